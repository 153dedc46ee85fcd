"""Ours with a warm JVM: one Spark session, opened as the product does, and a drain into a new lake per request.

A request with a `recording` has that drain recorded by Java's flight recorder, into the file it names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from lab.benchmarks.answering import answer_requests
from pipelines.commands import Stream
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import QUERY, live_runner
from pipelines.session import open_session
from pipelines.settings import load_settings


def main() -> None:
    settings = load_settings()
    spark = open_session(settings, QUERY)

    def drain(request: dict[str, str]) -> None:
        of_its_own = settings.model_copy(update={"home": Path(request["folder"]), "lake": ""})
        with recorded(spark, request.get("recording")):
            LiveJob(live_runner(spark, of_its_own), of_its_own).run(Stream(drain=True))

    answer_requests(drain)
    spark.stop()


@contextmanager
def recorded(spark: SparkSession, file: str | None) -> Iterator[None]:
    if file is None:
        yield
        return
    assert spark._jvm is not None
    jfr = spark._jvm.jdk.jfr
    recording = jfr.Recording(jfr.Configuration.getConfiguration("profile"))
    recording.start()
    yield
    recording.stop()
    recording.dump(spark._jvm.java.io.File(file).toPath())


if __name__ == "__main__":
    main()
