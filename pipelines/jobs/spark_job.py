"""A Spark session for the length of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines.io.failures import explained
from pipelines.session import close_session, open_session
from pipelines.settings import Settings


@contextmanager
def spark_job(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Raises, for an engine's failure with a known cause, the `PtsError` that it means."""
    spark = open_session(settings, name)
    try:
        with explained():
            yield spark
    finally:
        close_session(spark)
