"""The live job: one streaming query that plans micro-batches over both topics, and runs the flows on each.

Structured Streaming keeps what it is best at: the offsets of each batch, written down before the batch runs, and the
pace. It holds no state and carries no rows: a batch reads its range of the log itself.
"""

import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.commands import Stream
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.errors import Interrupted, NotFound
from pipelines.io.checkpoint import Checkpoint
from pipelines.io.kafka_admin import begin_offsets, end_offsets
from pipelines.io.kafka_log import KafkaLog
from pipelines.io.ledger import Ledger
from pipelines.io.live_lock import LiveLock, live_lock
from pipelines.jobs.batch import Batch
from pipelines.jobs.interrupts import signals_ask_to_stop
from pipelines.jobs.lake_job import LakeJob
from pipelines.jobs.live_progress import LiveProgress
from pipelines.jobs.position import (
    check_agreement,
    check_archived,
    check_partitions,
    check_promotions,
    starting_offsets,
)
from pipelines.jobs.spark_job import spark_job
from pipelines.jobs.topics import check_topics
from pipelines.settings import Settings
from pipelines.tables import OPS_BATCHES

QUERY = "live"
IDLE_SECONDS = 1.0
"""After so long without a batch the log counts as quiet."""

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
    with (
        signals_ask_to_stop() as stop,
        live_lock(settings.lake_root) as lock,
        spark_job(settings, QUERY) as spark,
    ):
        check_topics(settings)
        LiveJob(spark, settings, lock).run(command, stop)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain:
        raise Interrupted("The drain was stopped at a batch boundary, before its end. Start it again to go on.")


class LiveJob(LakeJob):
    """The streaming query, and the lake that it moves.

    Args:
        spark: The session.
        settings: Where lake and log are.
        lock: What it lends the lake by; without one it never does.
    """

    def __init__(self, spark: SparkSession, settings: Settings, lock: LiveLock | None = None) -> None:
        super().__init__(spark, settings, settings.lake_root)
        self._lock = lock
        self._checkpoint = Checkpoint(spark, f"{settings.lake_root}/_checkpoints/{QUERY}")
        self._under_way = threading.Lock()
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._partitions: dict[str, list[int]] = {}
        self._ended_at = time.monotonic()

    def insist_on_batches(self) -> None:
        """Raises `NotFound` when nothing was ever written here; creates nothing."""
        if not self.lake.exists(OPS_BATCHES) or Ledger(self._spark, self.lake).last() is None:
            raise NotFound(f"There is no batch in {self.lake.root} yet: `pts stream` makes them.")

    def _log(self, spark: SparkSession) -> KafkaLog:
        return KafkaLog(spark, self._settings.bootstrap_servers)

    def _planner(self) -> str | None:
        return self._checkpoint.query_id()

    def _cut_off(self) -> int | None:
        planned, number = self._checkpoint.last_planned(), self.last.checkpoint_batch_id if self.last else -1
        return planned if planned is not None and planned > number else None

    def _check_planner(self) -> None:
        check_promotions(self.lake.root)
        check_agreement(self.last, self._checkpoint)

    def run(self, command: Stream, stop: threading.Event, rebuilds: Iterable[str] = ()) -> None:
        """Prepares, then runs until `stop` is set, or, for a drain, until what the log holds now is in the tables."""
        self._stop = stop
        self.prepare(rebuilds)
        servers = self._settings.bootstrap_servers
        begin, end = begin_offsets(servers, TOPIC_NAMES), end_offsets(servers, TOPIC_NAMES)
        start = starting_offsets(self.last, self._checkpoint, begin, end)
        self._partitions = {topic: sorted(partitions) for topic, partitions in start.items()}
        check_archived(self._standing.reached, begin)
        progress = LiveProgress(servers, TOPIC_NAMES, start)
        query = (
            self._log(self._spark)
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
                self._catch_up_when_quiet(progress)
        except PySparkException:
            if self._failure is None and not self._stop.is_set():
                raise
        if self._under_way.acquire(timeout=STOP_GRACE_SECONDS):
            self._under_way.release()
            if self._failure is not None:
                raise self._failure
        query.stop()
        if not self._stop.is_set():
            self._catch_up(progress)

    def _catch_up_when_quiet(self, progress: LiveProgress) -> None:
        if self._under_way.acquire(blocking=False):
            try:
                self._lend_if_asked()
                if time.monotonic() - self._ended_at >= IDLE_SECONDS and self._cycle.is_due(self.last):
                    self._catch_up(progress)
            finally:
                self._under_way.release()

    def _lend_if_asked(self) -> None:
        """Between two batches, a command may have the lake; it finds all tables at one batch."""
        if self._lock and self._lock.is_asked_for:
            self.catch_up()
            self._lock.lend()
            self.prepare()

    def _catch_up(self, progress: LiveProgress) -> None:
        began, before = time.monotonic(), self.last
        self.catch_up()
        if self.last is not None and self.last is not before:
            progress.batch_done(self.last, time.monotonic() - began)

    def _on_batch(self, spark: SparkSession, number: int, progress: LiveProgress) -> None:
        """Called by Spark for each planned batch, in the query's own session; the batch is done when this returns."""
        with self._under_way:
            if self._stop.is_set():
                raise Stopped
            if self.last is not None and number <= self.last.checkpoint_batch_id:
                return  # It stands in the ledger: only Spark's own commit of it was cut off.
            try:
                self._lend_if_asked()
                began = time.monotonic()
                row = self._run(self._planned(number), spark)
                self._ended_at = time.monotonic()
                progress.batch_done(row, self._ended_at - began)
            except Exception as error:
                self._failure = error
                raise

    def _planned(self, number: int) -> Batch:
        checkpoint_id = self._checkpoint.query_id()
        assert checkpoint_id is not None
        ranges = self._checkpoint.ranges(number)
        for topic, partitions in self._partitions.items():
            check_partitions(topic, partitions, [part.partition for part in ranges if part.topic == topic])
        return Batch(
            batch_id=self.last.batch_id + 1 if self.last else 0,
            checkpoint_id=checkpoint_id,
            checkpoint_batch_id=number,
            ranges=ranges,
            started_at=datetime.now(UTC),
            writer=checkpoint_id,
            following=self._cycle.next(self.last),
            rebuilds=self._rebuilds,
        )
