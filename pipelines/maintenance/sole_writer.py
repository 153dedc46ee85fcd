"""The one process that may write the lake. A live job that runs waits for it, between two batches."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines.io.spark.spark_job import spark_job
from pipelines.settings import Settings
from pipelines.state.exclusion import correcting
from pipelines.state.handover import handed_over


@contextmanager
def sole_writer(settings: Settings, name: str) -> Iterator[SparkSession]:
    """A Spark session, and the lake held against other writers and those who correct rows.

    Raises:
        AnotherWriter: Another command holds the lake or corrects rows, or the live job does not hand it over within two
            minutes.
        PtsError: What an engine's failure with a known cause means.
    """
    with correcting(settings.lake_root), spark_job(settings, name) as spark, handed_over(settings.lake_root):
        yield spark
