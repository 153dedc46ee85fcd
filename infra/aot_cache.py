"""Records a short run of the job and its broker, from which Java starts and warms up faster: `spark.aot` and
`kafka.aot` in `<environment>/runtime`.

Run by `make setup` with the environment's own Python, as its last step. The run is a real one, on an embedded broker
and in a temporary folder. What Java loaded, linked and found to be hot in it, its ahead-of-time cache keeps (JEP 483,
514 and 515); no code is kept that was compiled for this machine. A cache that does not fit the Java or the jars any
more is passed over by Java.
"""

import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import Process
from pathlib import Path
from subprocess import Popen

from pyspark import SparkContext

from pipelines import commands
from pipelines.graph import FLOWS, Flow
from pipelines.io.kafka import admin
from pipelines.io.kafka.connection import Connection
from pipelines.java_runtime import RUNTIME
from pipelines.live import topics
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import live_runner
from pipelines.session import AOT_CACHE, JAVA_OPTIONS, open_session, quoted
from pipelines.settings import Broker, Settings, Spark, Stream
from pipelines.stack import broker, simulate

RECORDS, RECORDS_PER_BATCH = 24_000, 3_000
BROKER_SECONDS = 180  # while it is recorded, too


def main() -> None:
    for name in [name for name in os.environ if name.startswith("PTS_")]:
        del os.environ[name]  # a user's settings: their broker and lake are not for this
    caches = AOT_CACHE, broker.AOT_CACHE
    for cache in caches:
        cache.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=RUNTIME) as folder:
        port, controller_port = unused_ports()
        settings = Settings(
            home=Path(folder),
            broker=Broker(port=port, controller_port=controller_port),
            spark=Spark(
                conf={"spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {quoted(f'-XX:AOTCacheOutput={AOT_CACHE}')}"}
            ),
            stream=Stream(max_records_per_batch=RECORDS_PER_BATCH),
        )
        with recorded_broker(settings):
            topics.run(commands.Topics(), settings)
            simulate.run(commands.Simulate(packages=RECORDS // 10, count=RECORDS, rate=0), settings)
            spark_java = run_job(settings)
        spark_java.wait()  # each of the two has written its cache beside the other
    for cache in caches:
        if not cache.is_file():
            sys.exit(f"Java recorded a run of the job, but left no {cache}.")


@contextmanager
def recorded_broker(settings: Settings) -> Iterator[None]:
    """A broker that answers within the block; after it, Java has ended, and so written its cache."""
    java = Process(
        target=broker.run, args=(commands.Broker(), settings, [f"-XX:AOTCacheOutput={broker.AOT_CACHE}"]), daemon=True
    )
    java.start()
    deadline = time.monotonic() + BROKER_SECONDS
    while not admin.answers(Connection.of(settings, "admin")):
        if java.exitcode is not None or time.monotonic() > deadline:
            sys.exit(f"The broker did not answer within {BROKER_SECONDS} s, or ended (code {java.exitcode}).")
        time.sleep(0.1)
    yield
    java.terminate()
    java.join()


def run_job(settings: Settings, flows: Sequence[Flow] = FLOWS) -> Popen[bytes]:
    """Drains the log in small batches. Returns its Java, which ends when it has written its cache."""
    spark = open_session(settings)
    LiveJob(live_runner(spark, settings, flows), settings).run(commands.Stream(drain=True))
    spark.stop()
    assert SparkContext._gateway, "the session has a Java"
    java: Popen[bytes] = SparkContext._gateway.proc
    assert java.stdin
    java.stdin.close()
    return java


def unused_ports() -> tuple[int, int]:
    with ExitStack() as both:
        first, second = (both.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        return first.getsockname()[1], second.getsockname()[1]


if __name__ == "__main__":
    main()
