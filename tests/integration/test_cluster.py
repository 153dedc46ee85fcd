"""The job on a cluster of real processes."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from lab.benchmarks.processes import descendants, processes
from pipelines import commands
from pipelines.errors import LakeUnavailable
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.java_process import as_properties
from pipelines.session import RUNTIME
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.brokers import empty_log
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.pts_process import SHORT_LIVED, newest_row, process, pts, settings_of, wait_for, wait_until
from tests.permissions import permitted_beyond
from tests.ports import unused_ports

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=6, packages=200, rate=0, count=4_000)


SECRET = {"spark.authenticate.secret": "hunter2"}
CLOSED = SECRET | {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.master.rest.enabled": "false",
}
"""What master and workers need so that nobody without the secret can give them work."""

WITHOUT = ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs none "$0"; exec "$@"']
"""A command that hides a folder from the command that follows it."""


@contextmanager
def cluster(folder: Path, hidden: Path | None = None) -> Iterator[str]:
    """A Spark standalone master with two workers on loopback, which share a secret; gives its URL. A folder may be
    hidden from the workers, as one that their machines have not mounted.
    """
    properties = folder / "spark.properties"
    properties.write_text(as_properties(CLOSED))
    port, ui_port = unused_ports()
    java = [str(RUNTIME / "java" / "bin" / "java"), "-Xmx256m", "-cp", f"{Path(pyspark.__file__).parent}/jars/*"]
    here = ["--properties-file", str(properties), "--host", "127.0.0.1"]
    master = ["org.apache.spark.deploy.master.Master", *here, "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", *here, "--cores", "1", "--memory", "1g"]
    url = f"spark://127.0.0.1:{port}"
    environment = os.environ | {"JAVA_HOME": str(RUNTIME / "java"), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13"}
    started = []
    try:
        for name, command in [
            ("master", [*master, "--webui-port", str(ui_port)]),
            ("first", [*worker, "--webui-port", "0", "--work-dir", str(folder / "first"), url]),
            ("second", [*worker, "--webui-port", "0", "--work-dir", str(folder / "second"), url]),
        ]:
            without = [*WITHOUT, str(hidden)] if hidden and name != "master" else []
            with (folder / f"{name}.log").open("wb") as out:
                started.append(subprocess.Popen([*without, *java, *command], env=environment, stdout=out, stderr=out))
        wait_for(folder / "master.log", "Registering worker", count=2)
        yield url
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait(timeout=30)


def test_a_cluster_gives_the_same_tables_by_both_executors_also_when_one_is_lost(broker: str, tmp_path: Path) -> None:
    with empty_log(broker, tmp_path, partitions=12) as settings, cluster(tmp_path) as url:
        simulate.run(FEED, settings)
        environment = on(url, settings, "cluster") | {"PTS_STREAM__FOLLOW_SECONDS": "1"}
        with process(["stream"], environment, tmp_path / "job.log") as job:
            wait_for(tmp_path / "job.log", '"batch_id"')
            assert shown_to_everybody(b"CoarseGrainedExecutorBackend")
            assert not shown_to_everybody(b"hunter2"), "in the arguments of a process"
            for worker in ("first", "second"):
                assert any("Running task" in log.read_text() for log in (tmp_path / worker).glob("*/*/stderr")), worker
            signal_an_executor(signal.SIGKILL)
            simulate.run(FEED.model_copy(update={"seed": 7}), settings)
            wait_until(lambda: is_through(settings), tmp_path / "job.log")
            signal_an_executor(signal.SIGSTOP)  # as a worker that is cut off: it says nothing, and closes nothing
            simulate.run(FEED.model_copy(update={"seed": 8}), settings)
            wait_until(lambda: is_through(settings), tmp_path / "job.log", seconds=60)
            job.terminate()
            assert job.wait(timeout=60) == 0
        assert_lake_equals_log(str(settings.home / "cluster"), read_log(settings.bootstrap_servers))
    assert permitted_beyond(0o077, settings.home / "cluster") == {}, "whatever the umask of the workers is"


def on(url: str, settings: Settings, lake: str) -> dict[str, str]:
    """The environment of a job on the cluster."""
    on_cluster = SECRET | {"spark.executor.memory": "700m", "spark.driver.host": "127.0.0.1"}
    conf = json.dumps(SHORT_LIVED | on_cluster | {"spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1"})
    return settings_of(settings, lake, PTS_SPARK__MASTER=url, PTS_SPARK__CONF=conf)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide a folder from a process")
def test_folder_that_the_workers_do_not_have_is_refused(broker: str, tmp_path: Path) -> None:
    hidden = tmp_path / "lakes"
    hidden.mkdir()
    with empty_log(broker, tmp_path) as settings, cluster(tmp_path, hidden) as url:
        simulate.run(FEED, settings)
        refused = pts(["stream", "--drain"], on(url, settings, "lakes/lake"))
    assert refused.returncode == LakeUnavailable.exit_code, refused.stderr
    assert "The lake is a folder that not all workers have." in refused.stderr
    assert not list(hidden.rglob("*.parquet"))


def shown_to_everybody(word: bytes) -> list[int]:
    """Processes that this one, its cluster and its job have started, with the word in their arguments."""
    pids = (each.identity[0] for each in descendants(os.getpid(), processes(), set()))
    return [pid for pid in pids if word in Path(f"/proc/{pid}/cmdline").read_bytes()]


def signal_an_executor(number: signal.Signals) -> None:
    """One of those that this process' cluster has started."""
    os.kill(shown_to_everybody(b"CoarseGrainedExecutorBackend")[0], number)


def is_through(settings: Settings) -> bool:
    """Whether all tables are at the end of the log."""
    newest = newest_row(settings.home / "cluster")
    reached: int = sum(part["end_offset"] for part in newest["offsets"])
    if any(table["position"] < newest["batch_id"] for table in newest["tables"]):
        return False
    ends = end_offsets(Connection(settings.bootstrap_servers), ["ship-events", "ship-routes"])
    return reached == sum(sum(partitions.values()) for partitions in ends.values())
