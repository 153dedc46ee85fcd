"""The live job: one streaming query that plans micro-batches over both topics, and runs the flows on each.

Structured Streaming keeps what it is best at: the offsets of each batch, written down before the batch runs, and the
pace. It holds no state and carries no rows: a batch reads its range of the log itself.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.commands import Stream
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import Interrupted
from pipelines.io.checkpoint import Checkpoint
from pipelines.io.failures import known_failure
from pipelines.io.kafka_admin import begin_offsets, end_offsets
from pipelines.io.kafka_log import KafkaLog
from pipelines.io.lake import Lake
from pipelines.io.ledger import Ledger, LedgerRow
from pipelines.io.live_lock import live_lock
from pipelines.jobs.interrupts import signals_ask_to_stop
from pipelines.jobs.live_progress import LiveProgress
from pipelines.jobs.micro_batch import Batch, MicroBatch
from pipelines.jobs.position import check_partitions, starting_offsets
from pipelines.jobs.topics import check_topics
from pipelines.session import open_session
from pipelines.settings import Settings, WireFormat
from pipelines.tables import TABLES

QUERY = "live"
STOP_GRACE_SECONDS = 20.0
"""How long a stop waits for the batch under way; then the batch is cut off, and repeated at the next start."""

TOPIC_NAMES = [topic.name for topic in INPUT_TOPICS]


class Stopped(Exception):
    """Refuses a batch after the stop was asked for: raised into Spark, which then leaves the batch uncommitted."""


def run(command: Stream, settings: Settings) -> None:
    """Runs until SIGTERM or Ctrl-C, or with `command.drain` until all that is in the log now is in the tables.

    Raises:
        BrokerUnavailable, TopicMismatch, LogTruncated, LakeMismatch, LakeUnavailable, AnotherWriter: see `errors.py`.
            Whatever the moment, the next start goes on from the ledger, and repeats what was cut off.
        Interrupted: A drain was asked to stop.
        KeyboardInterrupt: After the batch under way, when Ctrl-C asked to stop.
    """
    with signals_ask_to_stop() as stop, live_lock(settings.lake_root):
        check_topics(settings)
        spark = open_session(settings, QUERY)
        try:
            LiveJob(spark, settings).run(command, stop)
        except Exception as error:
            if known := known_failure(error):
                raise known from error
            raise
        finally:
            spark.stop()
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain:
        raise Interrupted("The drain was stopped at a batch boundary, before its end. Start it again to go on.")


class LiveJob:
    """The streaming query and what it needs from batch to batch."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._checkpoint = Checkpoint(spark, f"{settings.lake_root}/_checkpoints/{QUERY}")
        self._wire_formats: dict[str, WireFormat] = {
            SHIP_EVENTS.name: settings.kafka.ship_events_format,
            SHIP_ROUTES.name: settings.kafka.ship_routes_format,
        }
        self._under_way = threading.Lock()
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._last: LedgerRow | None = None
        self._partitions: dict[str, list[int]] = {}
        self._lake: Lake | None = None  # of the query's own session, which exists from its first batch on

    def run(self, command: Stream, stop: threading.Event) -> None:
        self._stop = stop
        lake = Lake(self._spark, self._settings.lake_root)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lake.ensure, TABLES))  # each waits for a job of Delta's more than it works
        self._last = Ledger(self._spark, lake).last()
        servers = self._settings.bootstrap_servers
        begin, end = begin_offsets(servers, TOPIC_NAMES), end_offsets(servers, TOPIC_NAMES)
        start = starting_offsets(self._last, self._checkpoint, begin, end)
        self._partitions = {topic: sorted(partitions) for topic, partitions in start.items()}
        progress = LiveProgress(servers, TOPIC_NAMES, start)
        query = (
            KafkaLog(self._spark, servers)
            .stream(TOPIC_NAMES, start, self._settings.stream.max_records_per_batch)
            .writeStream.queryName(QUERY)
            .option("checkpointLocation", self._checkpoint.path)
            .foreachBatch(lambda frame, number: self._on_batch(frame.sparkSession, number, progress))
        )
        trigger = (
            {"availableNow": True}
            if command.drain
            else {"processingTime": f"{self._settings.stream.trigger_seconds} seconds"}
        )
        self._follow(query.trigger(**trigger).start(), progress)

    def _follow(self, query: StreamingQuery, progress: LiveProgress) -> None:
        """Waits for the query to end, or ends it at a batch boundary when asked to. Raises what ended a batch."""
        try:
            while not self._stop.is_set() and not query.awaitTermination(1):
                progress.sample()
        except PySparkException:
            if self._failure is None and not self._stop.is_set():
                raise
        if self._under_way.acquire(timeout=STOP_GRACE_SECONDS):
            self._under_way.release()
            if self._failure is not None:
                raise self._failure
        query.stop()

    def _on_batch(self, spark: SparkSession, checkpoint_batch_id: int, progress: LiveProgress) -> None:
        """Called by Spark for each planned batch; the batch is done when this returns."""
        with self._under_way:
            if self._stop.is_set():
                raise Stopped
            try:
                self._run_batch(spark, checkpoint_batch_id, progress)
            except Exception as error:
                self._failure = error
                raise

    def _run_batch(self, spark: SparkSession, checkpoint_batch_id: int, progress: LiveProgress) -> None:
        checkpoint_id = self._checkpoint.query_id()
        assert checkpoint_id is not None
        if self._last is not None and checkpoint_batch_id <= self._last.checkpoint_batch_id:
            return  # It stands in the ledger: only Spark's own commit of it was cut off.
        began = time.monotonic()
        ranges = self._checkpoint.ranges(checkpoint_batch_id)
        for topic, partitions in self._partitions.items():
            check_partitions(topic, partitions, [part.partition for part in ranges if part.topic == topic])
        batch = Batch(
            batch_id=self._last.batch_id + 1 if self._last else 0,
            checkpoint_id=checkpoint_id,
            checkpoint_batch_id=checkpoint_batch_id,
            ranges=ranges,
            started_at=datetime.now(UTC),
        )
        if self._lake is None:
            self._lake = Lake(spark, self._settings.lake_root)
        log = KafkaLog(spark, self._settings.bootstrap_servers)
        self._last = MicroBatch(batch, self._lake, log, self._wire_formats).run(Ledger(spark, self._lake))
        progress.batch_done(self._last, time.monotonic() - began)
