"""A Spark session for the length of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import BrokerUnavailable, PtsError
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import check_protocol
from pipelines.io.spark.failures import explained
from pipelines.java_process import LAST_WORDS_SECONDS
from pipelines.session import close_session, open_session
from pipelines.settings import Settings


@contextmanager
def spark_job(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Raises, for an engine's failure with a known cause, the `PtsError` that it means, and `JavaEnded`."""
    spark = open_session(settings, name)
    try:
        with explained():
            yield spark
    except BrokerUnavailable:
        check_protocol(Connection.of(settings))  # of a wrong one, Java's clients tell that nobody answered
        raise
    except PtsError:
        raise
    except Exception as error:
        if java_process.exit_code(LAST_WORDS_SECONDS) is None:
            raise
        raise java_process.ended(f"during {name}") from error
    finally:
        close_session(spark)
