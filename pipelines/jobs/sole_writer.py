"""The one process that may write the lake."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines.io.failures import known_failure
from pipelines.io.live_lock import live_lock
from pipelines.session import open_session
from pipelines.settings import Settings


@contextmanager
def sole_writer(settings: Settings, name: str) -> Iterator[SparkSession]:
    """A Spark session, for as long as the lake is held against other writers.

    Raises:
        AnotherWriter: Somebody else holds the lake.
        PtsError: What an engine's failure with a known cause means.
    """
    with live_lock(settings.lake_root):
        spark = open_session(settings, name)
        try:
            yield spark
        except Exception as error:
            if known := known_failure(error):
                raise known from error
            raise
        finally:
            spark.stop()
