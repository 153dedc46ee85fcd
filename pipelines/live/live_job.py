"""The live job: one streaming query that plans micro-batches over both topics, and runs the flows on each.

Structured Streaming keeps what it is best at: the offsets of each batch, written down before the batch runs, and the
interval. It holds no state and carries no rows: a batch reads its range of the log itself.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.commands import ReplayPromote, Stream
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.engine.batch import Batch
from pipelines.engine.runner import LakeRunner
from pipelines.errors import BrokerUnavailable, LogTruncated
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, Offsets, ends, ranges_between, starts
from pipelines.io.spark.failures import known_failure
from pipelines.live.log_identity import check_same_log
from pipelines.live.new_checkpoint import replace_checkpoint
from pipelines.live.planner import QUERY, LivePlanner
from pipelines.live.progress import LiveProgress
from pipelines.live.resume import (
    check_archived,
    check_ends,
    check_partitions,
    check_plan,
    is_in_ledger,
    starting_offsets,
)
from pipelines.live.small_files import join_small_files
from pipelines.running_command import in_place_of
from pipelines.settings import Settings
from pipelines.state.handover import Handover
from pipelines.state.lake_choices import keep_choices
from pipelines.state.ledger import Observer
from pipelines.state.replay_records import Promoted

IDLE_SECONDS = 1.0
"""After so long without a batch the log counts as quiet."""

POLL_SECONDS = 0.1
"""How soon a stop is noticed: before Spark has planned the next batch, which would have to be refused."""

STOP_GRACE_SECONDS = 20.0
"""How long a stop waits for the batch under way; then the batch is cut off, and repeated at the next start. What a
command has delegated is waited for to its end."""

REHEARSED_RECORDS = 100
"""Of each partition."""

LOOKS = "Getting offsets from "
"""What a streaming query says of itself while it looks for records, and rests where there are none."""

TOPIC_NAMES = [topic.name for topic in INPUT_TOPICS]


Delegate = Callable[[ReplayPromote, LakeRunner, Settings], Promoted]
"""Does the last part of a command on the live lake, in its place."""


class Stopped(Exception):
    """Nothing more is done, after a stop was asked for or a failure. Raised into Spark, which then leaves the batch
    uncommitted.
    """


class Phase(Enum):
    """What a live job does now. One thing at a time, in the query's thread or beside it."""

    IDLE = auto()
    BATCH = auto()
    HANDOVER = auto()
    """The work of a command, which no stop cuts off."""

    STOPPING = auto()
    """The query is being stopped: what a batch fails with from here on follows from that."""


def is_in_batch(status: Mapping[str, Any]) -> bool:
    """Whether a streaming query has planned a batch that it has not committed."""
    return status["isTriggerActive"] and not status["message"].startswith(LOOKS)


class LiveJob:
    """The streaming query, and the lake that it moves.

    Args:
        runner: The live lake's.
        settings: Where lake and log are.
        handover: By which commands ask for the writer lease; without it, none gets it.
        delegate: How it does what a command delegates; without it, the command gets the lease for that, too.
        stop: Once it is set, the job ends at a batch boundary.
        observers: Are told of each batch.
    """

    def __init__(
        self,
        runner: LakeRunner,
        settings: Settings,
        handover: Handover | None = None,
        delegate: Delegate | None = None,
        stop: threading.Event | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.runner = runner
        self._settings = settings
        self._handover = handover
        self._delegate = delegate
        self._checkpoint = LivePlanner(settings).checkpoint
        self._stop = stop or threading.Event()
        self._observers = observers
        self._failure: Exception | None = None
        self._phase = Phase.IDLE
        self._busy = threading.Lock()
        """Held in every phase but the first and the last."""
        self._idle_since = time.monotonic()

    def _log_bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset that each partition still holds, and that of its next record."""
        connection = Connection.of(self._settings)
        return begin_offsets(connection, TOPIC_NAMES), end_offsets(connection, TOPIC_NAMES)

    def rehearse(self) -> None:
        """Judges the log's newest records, and keeps nothing: for one that stands by, and is to be fast once it may."""
        begin, end = self._log_bounds()
        newest = {
            topic: {
                number: max(begin[topic][number], offset - REHEARSED_RECORDS) for number, offset in partitions.items()
            }
            for topic, partitions in end.items()
        }
        self.runner.rehearse(ranges_between(newest, end))

    def run(self, command: Stream, rebuilds: Iterable[str] = ()) -> None:
        """Prepares, then runs until it is stopped, or, for a drain, until what the log holds now is in the tables."""
        runner = self.runner
        begin, end = self._log_bounds()
        if command.new_checkpoint:
            replace_checkpoint(runner.lake, self._checkpoint, begin, end)
        runner.prepare(rebuilds)
        start = starting_offsets(runner.last, self._checkpoint, begin, end)
        check_archived(runner.positions.reached, begin)
        connection = Connection.of(self._settings)
        check_same_log(runner.lake, runner.positions.reached, begin, connection)
        check_plan(runner.last, self._checkpoint)  # only now: it says that the log is whole
        keep_choices(runner.lake.root, self._settings)
        progress = LiveProgress(connection, TOPIC_NAMES, start, runner.lake.root, self._observers)
        query = (
            KafkaLog(runner.spark, connection)
            .stream(TOPIC_NAMES, start, self._settings.stream.max_records_per_batch)
            .writeStream.queryName(QUERY)
            .option("checkpointLocation", self._checkpoint.path)
            .foreachBatch(lambda frame, number: self.on_batch(frame.sparkSession, number, progress))
        )
        trigger = (
            {"availableNow": True}
            if command.drain
            else {"processingTime": f"{self._settings.stream.trigger_seconds} seconds"}
        )
        with progress, self.naming_lost_records():
            self.follow(query.trigger(**trigger).start(), progress)

    @contextmanager
    def naming_lost_records(self) -> Iterator[None]:
        """Where Spark finds that records are gone, it may not say which: the offsets are named, as at a start."""
        try:
            yield
        except Exception as error:
            if isinstance(known_failure(error), LogTruncated):
                with suppress(BrokerUnavailable):
                    starting_offsets(self.runner.last, self._checkpoint, *self._log_bounds())
            raise

    def follow(self, query: StreamingQuery, progress: LiveProgress) -> None:
        """Waits for the query to end, or ends it at a batch boundary: when asked to, or when something fails beside the
        batches. Raises what ended it.
        """
        try:
            while not self._stop.wait(POLL_SECONDS) and query.isActive:
                progress.check()
                self.when_quiet(progress)
        except Stopped:
            pass
        except Exception as error:
            self._fail(error)
        try:
            self._await_boundary(query)
            if not self._stop.is_set():
                query.awaitTermination()  # raises what ended it, where no batch did
            query.stop()
        except (Py4JError, OSError):  # Java has gone
            # A thread that is still within DuckDB or delta-rs when Python ends takes the process down with it.
            self._busy.acquire(timeout=STOP_GRACE_SECONDS)
            raise
        if self._failure is not None:
            raise self._failure
        if not self._stop.is_set():
            self._catch_up(progress)

    def _await_boundary(self, query: StreamingQuery) -> None:
        """Until a batch under way has ended, and Spark has committed it: cut off within that, it would say so."""
        deadline = time.monotonic() + STOP_GRACE_SECONDS
        while query.isActive and is_in_batch(query.status):
            if time.monotonic() > deadline and self._phase is not Phase.HANDOVER:
                break
            time.sleep(POLL_SECONDS)
        self._phase = Phase.STOPPING

    def _fail(self, error: Exception) -> None:
        """Nothing more is begun, as after a stop; the job ends with the first failure."""
        self._failure = self._failure or error
        self._stop.set()

    @contextmanager
    def _in(self, phase: Phase) -> Iterator[None]:
        """Puts the job into a phase for the block, unless the query is being stopped."""
        before, self._phase = self._phase, phase
        try:
            yield
        finally:
            if self._phase is phase:
                self._phase = before

    def when_quiet(self, progress: LiveProgress) -> None:
        """What there is to do between two batches; nothing while one is under way."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            if self._stop.is_set():
                return
            with self._in(Phase.BATCH):
                self._hand_over_if_asked()
                if time.monotonic() - self._idle_since >= IDLE_SECONDS and self.runner.schedule.is_due(
                    self.runner.last
                ):
                    self._catch_up(progress)
        finally:
            self._busy.release()

    def _hand_over_if_asked(self) -> None:
        """Between two batches, a command may have the lease, with all tables at one batch, or delegate its work to this
        job, whose Java is warm."""
        handover, delegate = self._handover, self._delegate
        if handover:
            handover.check()
        request = handover.request if handover and handover.is_time_to_look() else None
        if handover is None or request is None:
            return
        if (command := request.command) and delegate:
            with self._in(Phase.HANDOVER), in_place_of("pts replay promote"):
                handover.do(request, lambda: delegate(command, self.runner, self._settings))
        else:
            self.runner.catch_up()
            if not handover.hand_over(self._stop):
                raise Stopped
        self.runner.prepare()
        self.runner.schedule.restart(
            is_due=request.command is not None
        )  # a promotion leaves the catch-up tables behind
        self._idle_since = time.monotonic()  # what has come meanwhile is read before the log counts as quiet

    def _catch_up(self, progress: LiveProgress) -> None:
        began, before = time.monotonic(), self.runner.last
        self.runner.catch_up()
        if (last := self.runner.last) is not None and last is not before:
            progress.batch_done(last, time.monotonic() - began, self.runner.phases)

    def on_batch(self, spark: SparkSession, number: int, progress: LiveProgress) -> None:
        """Called by Spark for each planned batch, in the query's own session; the batch is done when this returns."""
        with self._busy:
            if self._stop.is_set():
                raise Stopped
            if is_in_ledger(number, self._checkpoint.query_id(), self.runner.last):
                return  # Only Spark's own commit of it was cut off.
            try:
                with self._in(Phase.BATCH):
                    self._hand_over_if_asked()
                    began = time.monotonic()
                    row = self.runner.run(self._planned(number), spark)
                    self._idle_since = time.monotonic()
                    progress.batch_done(row, self._idle_since - began, self.runner.phases)
                    join_small_files(self.runner.lake, row.batch_id)
            except Stopped:
                raise
            except Exception as error:
                if self._phase is not Phase.STOPPING:  # else it fails for that reason, and the next start repeats it
                    self._fail(error)
                # Without the error itself: a pattern of Spark's fails on long texts, as of those with Java's traces.
                raise Stopped from None

    def _planned(self, number: int) -> Batch:
        ranges = self._checkpoint.ranges(number)
        check_ends(starts(ranges), ends(ranges))
        before = self.runner.last.end_offsets if self.runner.last else {}
        for topic, partitions in before.items():
            check_partitions(topic, partitions, [part.partition for part in ranges if part.topic == topic])
        return self.runner.batch(number, ranges)
