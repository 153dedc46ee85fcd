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
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import Interrupted, NotFound
from pipelines.graph import FLOWS, flows_into, with_dependents
from pipelines.io.checkpoint import Checkpoint
from pipelines.io.kafka_admin import begin_offsets, end_offsets
from pipelines.io.kafka_log import KafkaLog
from pipelines.io.lake import Lake
from pipelines.io.ledger import Ledger, LedgerRow
from pipelines.jobs.batch import Batch, Following, Reach, Standing, maintenance_batch
from pipelines.jobs.cycle import Cycle
from pipelines.jobs.intact import State, prepare
from pipelines.jobs.interrupts import signals_ask_to_stop
from pipelines.jobs.live_progress import LiveProgress
from pipelines.jobs.micro_batch import MicroBatch
from pipelines.jobs.position import check_agreement, check_archived, check_partitions, starting_offsets
from pipelines.jobs.sole_writer import sole_writer
from pipelines.jobs.topics import check_topics
from pipelines.settings import Settings, WireFormat
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
    with signals_ask_to_stop() as stop, sole_writer(settings, QUERY) as spark:
        check_topics(settings)
        LiveJob(spark, settings).run(command, stop)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain:
        raise Interrupted("The drain was stopped at a batch boundary, before its end. Start it again to go on.")


class LiveJob:
    """The streaming query and what it needs from batch to batch.

    Attributes:
        lake: The tables.
        last: The ledger's newest row.
    """

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
        self._partitions: dict[str, list[int]] = {}
        self.lake = Lake(spark, settings.lake_root)
        self.last: LedgerRow | None = None
        self._ended_at = time.monotonic()
        self._cycle = Cycle()
        self._standing = Standing()
        self._rebuilds: frozenset[str] = frozenset()

    def insist_on_batches(self) -> None:
        """Raises `NotFound` when nothing was ever written here; creates nothing."""
        if not self.lake.exists(OPS_BATCHES) or Ledger(self._spark, self.lake).last() is None:
            raise NotFound(f"There is no batch in {self.lake.root} yet: `pts stream` makes them.")

    def prepare(self, rebuilds: Iterable[str] = ()) -> bool:
        """Checks and creates the tables; makes anew those that are asked for, that the ledger does not know, or that a
        maintenance command left half done.

        Returns:
            Whether a batch was cut off between tables. Then its repeat, by `run`, makes the tables anew.

        Raises `LakeMismatch` when ledger, checkpoint and tables contradict each other.
        """
        self.lake.ensure(OPS_BATCHES)
        ledger = Ledger(self._spark, self.lake)
        self.last = ledger.last()
        check_agreement(self.last, self._checkpoint)
        self._standing = Standing.after(self.last, ledger)
        wanted = with_dependents(rebuilds)
        states = prepare(self.lake, self.last, self._checkpoint.query_id(), self._cut_off(), wanted)
        half_done = (state.table.name for state in states if state.is_half_done)
        added = (flow.into.name for flow in FLOWS if flow.is_fold and flow.into.name not in self._standing.tables)
        self._rebuilds = with_dependents((*wanted, *half_done, *(added if self.last else ())))
        self._end_turns([state for state in states if state.is_ahead_to is not None], ledger)
        was_cut_off = any(state.is_ahead for state in states)
        if self.last and self._rebuilds and not was_cut_off:
            self._run(maintenance_batch(self.last, "rebuild", rebuilds=self._rebuilds), self._spark)
        return was_cut_off

    def _end_turns(self, ahead: list[State], ledger: Ledger) -> None:
        """Completes a turn that was cut off, up to the batch to which it was to bring its tables."""
        for batch_id in {state.is_ahead_to for state in ahead if state.is_ahead_to is not None}:
            assert self.last is not None
            known = ledger.row(batch_id)  # none for maintenance, which would have become the ledger's next row
            up_to = Reach.of(known) if known else Reach(batch_id, self.last.end_offsets)
            flows = (flow for state in ahead for flow in flows_into(state.table))
            following = Following(tuple({flow.turn for flow in flows if flow.turn}), up_to)
            rebuilds = self._rebuilds
            self._run(maintenance_batch(self.last, "catch-up", following=following), self._spark)
            self._rebuilds = rebuilds

    def _cut_off(self) -> int | None:
        """Number of the batch that was planned and is not in the ledger."""
        planned, number = self._checkpoint.last_planned(), self.last.checkpoint_batch_id if self.last else -1
        return planned if planned is not None and planned > number else None

    def catch_up(self) -> None:
        """Brings the tables that follow to the end of the ledger. No batch may have been cut off."""
        if self.last and any(state.position < self.last.batch_id for state in self.last.tables.values()):
            self._run(maintenance_batch(self.last, "catch-up"), self._spark)
        self._cycle.begin_anew()

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
                if time.monotonic() - self._ended_at >= IDLE_SECONDS and self._cycle.is_due(self.last):
                    self._catch_up(progress)
            finally:
                self._under_way.release()

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

    def _run(self, batch: Batch, spark: SparkSession) -> LedgerRow:
        lake = Lake(spark, self._settings.lake_root, self.lake.versions)
        log = KafkaLog(spark, self._settings.bootstrap_servers)
        row = MicroBatch(batch, self._standing, lake, log, self._wire_formats).run(Ledger(spark, lake))
        self.last, self._standing, self.lake = row, self._standing.then(row, batch), lake
        self._rebuilds = frozenset()
        return row
