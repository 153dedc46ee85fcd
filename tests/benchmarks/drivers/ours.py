"""Ours with a warm JVM: one Spark session, opened as the product does, and a drain into a new lake per request."""

import threading
from pathlib import Path

from pipelines.commands import Stream
from pipelines.jobs.stream import QUERY, LiveJob
from pipelines.session import open_session
from pipelines.settings import load_settings
from tests.benchmarks.answering import answer_requests


def main() -> None:
    settings = load_settings()
    spark = open_session(settings, QUERY)

    def drain(request: dict[str, str]) -> None:
        of_its_own = settings.model_copy(update={"home": Path(request["folder"]), "lake": ""})
        LiveJob(spark, of_its_own).run(Stream(drain=True), threading.Event())

    answer_requests(drain)
    spark.stop()


if __name__ == "__main__":
    main()
