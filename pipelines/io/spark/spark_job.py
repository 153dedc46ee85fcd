"""A Spark session for the length of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines.errors import JavaEnded, PtsError
from pipelines.io.spark.failures import explained
from pipelines.session import LAST_WORDS_SECONDS, close_session, java_exit_code, open_session
from pipelines.settings import Settings


@contextmanager
def spark_job(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Raises, for an engine's failure with a known cause, the `PtsError` that it means, and `JavaEnded`."""
    spark = open_session(settings, name)
    try:
        with explained():
            yield spark
    except PtsError:
        raise
    except Exception as error:
        code = java_exit_code(LAST_WORDS_SECONDS)
        if code is None:
            raise
        raise JavaEnded(
            f"Spark's Java ended by itself, with code {code}. Nothing is lost. Unless somebody killed it, it had too "
            f"little memory for a batch: raise PTS_SPARK__DRIVER_MEMORY_MB ({settings.spark.driver_memory_mb}) and "
            "start again, then lower PTS_STREAM__MAX_RECORDS_PER_BATCH, so that later batches are smaller."
        ) from error
    finally:
        close_session(spark)
