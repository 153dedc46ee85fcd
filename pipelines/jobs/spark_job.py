"""A Spark session for the length of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines.io.failures import known_failure
from pipelines.session import open_session
from pipelines.settings import Settings


@contextmanager
def spark_job(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Raises, for an engine's failure with a known cause, the `PtsError` that it means."""
    spark = open_session(settings, name)
    try:
        yield spark
    except Exception as error:
        if known := known_failure(error):
            raise known from error
        raise
    finally:
        spark.stop()
