"""A Spark session for the length of a command."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import BrokerUnavailable, PtsError
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import check_protocol
from pipelines.io.spark.failures import explained
from pipelines.io.storage import locks
from pipelines.java_process import LAST_WORDS_SECONDS
from pipelines.session import close_session, is_local, open_session
from pipelines.settings import Settings

LOOKS_APART_SECONDS = 1.0


@contextmanager
def spark_job(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Raises, for an engine's failure with a known cause, the `PtsError` that it means, and `JavaEnded`. On a cluster,
    also `AnotherWriter` once a lock that this process holds was not renewed in time.
    """
    spark = open_session(settings, name)
    over = threading.Event()
    if not is_local(settings):
        threading.Thread(target=_cancel_without_locks, args=(spark, over), daemon=True).start()
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
        over.set()
        close_session(spark)


def _cancel_without_locks(spark: SparkSession, over: threading.Event) -> None:
    """Until it is over, cancels what Spark does whenever a lock was lost: a driver that was cut off has lost its
    executors, too, and a job would wait for others for ever.
    """
    while not over.wait(LOOKS_APART_SECONDS):
        if locks.is_any_lost():
            with suppress(Py4JError, OSError):  # Java has gone
                spark.sparkContext.cancelAllJobs()
