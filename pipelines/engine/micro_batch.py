"""One micro-batch: a range of the log into every table whose time it is, ended by a row in the ledger.

Each write carries a transaction, so a batch that was cut off anywhere is repeated as a whole: what stands is skipped,
what is missing is written. What the batch adds is decided once, in silver; the folds take it from there by its Kafka
coordinates, also on a repeat, and also when they take several batches at once.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.topics import Topic
from pipelines.engine.batch import Batch, Reach, Standing
from pipelines.engine.judged_batch import Heard, hear
from pipelines.graph import (
    FLOWS,
    Around,
    Comparable,
    Current,
    Flow,
    Judged,
    Log,
    New,
    NotAccepted,
    Read,
    StartedAt,
    flows_into,
)
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.io.kafka.log import OffsetRange, RecordLog, ranges_between, starts, within
from pipelines.session import planned_for
from pipelines.state.ledger import NOTHING_YET, Counts, Ledger, LedgerRow, TableState
from pipelines.tables import OPS_BATCHES, TABLES, Table
from pipelines.transforms.expiry import is_expired
from pipelines.transforms.judge import judged
from pipelines.transforms.windows import hour_spans, in_spans


class MicroBatch:
    """Runs one batch.

    Args:
        batch: What to do.
        standing: Where the tables stand.
        lake: The tables.
        log: The topics.
        wire_formats: `csv` or `json` by topic name.
    """

    def __init__(
        self, batch: Batch, standing: Standing, lake: Lake, log: RecordLog, wire_formats: Mapping[str, str]
    ) -> None:
        self._batch = batch
        self._standing = standing
        self._lake = lake
        self._log = log
        self._wire_formats = wire_formats
        self._heard: dict[str, Heard] = {}
        self._commits: dict[str, Change] = {}

    def run(self, ledger: Ledger) -> LedgerRow:
        """Writes every table whose time it is, and then the ledger's row, which it returns."""
        try:
            todo = [flow for flow in FLOWS if self._moves(flow) and self._has_input(flow)]
            self._run([flow for flow in todo if flow.turn is None])
            self._run([flow for flow in todo if flow.turn])
        finally:
            for heard in self._heard.values():
                heard.records.unpersist()
        row = LedgerRow(
            batch_id=self._batch.batch_id,
            checkpoint_id=self._batch.checkpoint_id,
            checkpoint_batch_id=self._batch.checkpoint_batch_id,
            started_at=self._batch.started_at,
            committed_at=datetime.now(UTC),
            ranges=self._batch.ranges,
            counts={topic: self._counts(topic) for topic in self._wire_formats},
            tables={table.name: self._state(table) for table in TABLES if table != OPS_BATCHES},
        )
        ledger.append(row, self._batch.transaction("ledger"))
        return row

    def _run(self, flows: list[Flow]) -> None:
        """Runs flows side by side, as far as they do not need each other. Raises the first failure when all ended."""
        if not flows:
            return
        in_session = inheritable_thread_target(self._lake.spark)
        running: dict[str, Future[None]] = {}
        with (
            planned_for(self._lake.spark, max(map(self._input_size, flows))),
            ThreadPoolExecutor(len(flows)) as pool,
        ):
            for flow in flows:
                needed = [running[other.name] for other in flows if other.name in running and flow.needs(other)]
                running[flow.name] = pool.submit(in_session(self._run_after), needed, flow)
        for future in running.values():
            future.result()

    def _run_after(self, needed: Iterable[Future[None]], flow: Flow) -> None:
        for future in needed:
            future.result()
        self._commits[flow.name] = self._write(flow)

    def _moves(self, flow: Flow) -> bool:
        following = self._batch.following
        is_its_turn = flow.turn is None or bool(following and flow.turn in following.turns)
        return is_its_turn or flow.into.name in self._batch.rebuilds

    def _reach(self, flow: Flow) -> Reach:
        """Up to where on the log the flow brings its table."""
        following = self._batch.following
        if following and flow.turn in following.turns and flow.into.name not in self._batch.rebuilds:
            return following.up_to
        return self._batch.reach

    def _state(self, table: Table) -> TableState:
        before = self._standing.tables.get(table.name, TableState(version=0, position=NOTHING_YET))
        flows = flows_into(table)
        if not all(map(self._moves, flows)):
            return before
        writers = [flow.name for flow in flows] + [_of_archive(flow) for flow in FLOWS if flow.archive == table]
        written = [self._commits[name].version for name in writers if name in self._commits]
        return TableState(
            version=max(written, default=before.version),
            position=self._reach(flows[0]).batch_id if flows else self._batch.batch_id,
            expired_before=None if table.name in self._batch.rebuilds else before.expired_before,
        )

    def _has_input(self, flow: Flow) -> bool:
        """A batch often holds records of one topic only, or none that is accepted: nothing to write then."""
        return flow.into.name in self._batch.rebuilds or bool(self._input_size(flow))

    def _input_size(self, flow: Flow) -> int:
        """How many records or new rows the flow is given."""
        return sum(self._size(flow, read) for read in flow.reads)

    def _size(self, flow: Flow, read: Read) -> int:
        match read:
            case Judged(topic):
                return self._batch.size(topic.name)
            case Log(topic) | NotAccepted(topic) | New(_, topic):
                return sum(part.size for part in self._unfolded(flow, topic))
        return 0

    def _counts(self, topic: str) -> Counts:
        """Duplicates are what is left of the records read."""
        for flow in FLOWS:
            if (
                isinstance(source := flow.reads[0], Judged)
                and source.topic.name == topic
                and flow.name in self._commits
            ):
                heard, accepted = self._heard[topic], self._commits[flow.name].row_count
                duplicate = heard.read_count - accepted - heard.rejected_count
                return Counts(heard.read_count, accepted, duplicate, heard.rejected_count)
        return Counts(0, 0, 0, 0)

    def _write(self, flow: Flow) -> Change:
        self._lake.version(flow.into)  # refuses what others changed before anything is made from it
        rows = flow.by(*(self._frame(flow, read) for read in flow.reads))
        if flow.into.name in self._batch.rebuilds:
            if flow.publishes and any(part.size for part in self._batch.ranges):
                # Which of them this batch changed is not known any more.
                self._log.send(flow.publishes.by(rows), flow.publishes.topic.name, self._input_size(flow))
            # Under an identity of its own: a batch that was cut off may have written the old table already.
            made = self._lake.replace(rows, flow.into, Transaction(f"rebuild-{uuid.uuid4()}/{flow.name}", 0))
            if flow.archive and self._lake.version(flow.archive):  # what it let go is in the table again
                nothing, name = self._lake.scan(flow.archive).where(F.lit(False)), _of_archive(flow)
                emptied = Transaction(f"rebuild-{uuid.uuid4()}/{name}", 0)
                self._commits[name] = self._lake.replace(nothing, flow.archive, emptied)
            return made
        in_turn = flow.turn is not None
        transaction = self._batch.turn_transaction(flow.name) if in_turn else self._batch.transaction(flow.name)
        expected = self._input_size(flow)
        if flow.write == "append":
            return self._lake.append(rows, flow.into, transaction, expected)
        fold = self._lake.merge if flow.write == "merge" else self._lake.add
        changed = rows.where(self._is_kept(flow))
        are_many = not self._lake.are_few(expected)
        with _held(changed) if flow.publishes or are_many else nullcontext():
            if flow.publishes:
                self._log.send(flow.publishes.by(changed), flow.publishes.topic.name, expected)
            # Of many scans, few rows may be left: the hours of a carrier, or the packages of a backlog.
            return fold(changed, flow.into, transaction, changed.count() if are_many else expected)

    def _is_kept(self, flow: Flow) -> Column:
        """A late scan does not bring back, in part, what was let go as a whole."""
        state, expiry = self._standing.tables.get(flow.into.name), flow.into.expiry
        if not (state and state.expired_before and expiry) or flow.archive:
            return F.lit(True)
        return ~is_expired(expiry, state.expired_before)

    def _frame(self, flow: Flow, read: Read) -> Any:
        match read:
            case Log(topic):
                return self._log.records(topic.name, self._unfolded(flow, topic))
            case StartedAt():
                return self._batch.started_at
            case Judged(topic):
                return self._hear(topic, flow.into).records
            case NotAccepted(topic, bronze, silver):
                archived, accepted = (self._added(each, self._unfolded(flow, topic)) for each in (bronze, silver))
                rest = archived.join(accepted, ["kafka_partition", "kafka_offset"], "left_anti")
                return self._judged(rest, topic)
            case New():
                return self._new(flow, read)
            case Comparable(table):
                (heard,) = (self._heard[read.topic.name] for read in flow.reads if isinstance(read, Judged))
                spans = hour_spans(heard.hours)
                if heard.identities is not None:
                    return self._lake.matching(table, heard.identities, "occurred_at", spans)
                return self._lake.scan(table, "occurred_at", spans).where(in_spans(F.col("occurred_at"), spans))
            case Around(new, margin):
                micros = F.unix_micros("occurred_at")  # a Python time would pass through the machine's zone
                span = self._frame(flow, new).agg(F.min(micros), F.max(micros)).collect()[0]
                begin, end = (F.timestamp_micros(F.lit(edge).cast("bigint")) for edge in span)
                near = F.col("occurred_at").between(begin - F.lit(margin), end + F.lit(margin))
                until_now = _of(new.topic, ranges_between({}, self._reach(flow).offsets))
                return self._added(new.table, until_now).where(near)
            case Current(table, archive):
                return self._current(flow, table, archive)

    def _current(self, flow: Flow, table: Table, archive: Table | None) -> DataFrame:
        if table != flow.into:
            return self._lake.scan(table)
        if table.name in self._batch.rebuilds:
            return self._lake.scan(table).where(F.lit(False))
        rows = self._touched(flow, table)
        if archive and self._lake.version(archive):
            return rows.unionByName(self._touched(flow, archive).join(rows, list(table.key), "left_anti"))
        return rows

    def _touched(self, flow: Flow, table: Table) -> DataFrame:
        """Rows of a table with the flow's key: at least those with a key of the new rows."""
        if not self._lake.are_few(self._input_size(flow)):
            return self._lake.scan(table)
        new = [name for read in flow.reads if isinstance(read, New) for name in self._files_of_new(flow, read)]
        return self._lake.matching(table, delta_rs.columns(new, table.key))

    def _unfolded(self, flow: Flow, topic: Topic) -> tuple[OffsetRange, ...]:
        """What of a topic the flow's table does not hold yet."""
        is_rebuilt = flow.into.name in self._batch.rebuilds
        begin = {} if is_rebuilt or self._standing.tables else starts(self._batch.ranges)  # of a lake's first batch
        reached = {} if is_rebuilt else self._standing.reached.get(flow.into.name, begin)
        return _of(topic, ranges_between(reached, self._reach(flow).offsets))

    def _new(self, flow: Flow, read: New) -> DataFrame:
        """Silver's rows that the flow's table lacks; when these are the batch's own, just the files they went into."""
        if self._are_own(flow, read):
            return self._lake.added(self._changes(read.table), read.table)
        return self._added(read.table, self._unfolded(flow, read.topic))

    def _files_of_new(self, flow: Flow, read: New) -> list[str]:
        """The files that hold them."""
        if self._are_own(flow, read):
            return self._lake.added_files(self._changes(read.table), read.table)
        return self._lake.files(read.table, "kafka_offset", _spans(self._unfolded(flow, read.topic)))

    def _are_own(self, flow: Flow, read: New) -> bool:
        return all(part in self._batch.ranges for part in self._unfolded(flow, read.topic))

    def _changes(self, table: Table) -> list[Change]:
        """What the batch has added to a table."""
        return [self._commits[flow.name] for flow in flows_into(table) if flow.name in self._commits]

    def _added(self, table: Table, ranges: tuple[OffsetRange, ...]) -> DataFrame:
        """The rows of a table that come from ranges of one topic."""
        return self._lake.scan(table, "kafka_offset", _spans(ranges)).where(within(ranges))

    def _hear(self, topic: Topic, silver: Table) -> Heard:
        records, expected = self._log.records(topic.name, self._batch.ranges), self._batch.size(topic.name)
        judge, columns = partial(self._judged, topic=topic), [*silver.column_names, "reason"]
        self._heard[topic.name] = hear(records, judge, columns, topic, self._lake, expected)
        return self._heard[topic.name]

    def _judged(self, records: DataFrame, topic: Topic) -> DataFrame:
        return judged(records, topic, self._wire_formats[topic.name])


def _of_archive(flow: Flow) -> str:
    """Names the commit to the archive of the flow's table."""
    return f"{flow.name}.archive"


def _of(topic: Topic, ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    return tuple(part for part in ranges if part.topic == topic.name)


def _spans(ranges: Iterable[OffsetRange]) -> list[tuple[int, int]]:
    return [(part.start, part.end) for part in ranges]


@contextmanager
def _held(rows: DataFrame) -> Iterator[None]:
    """Holds rows that are used twice, so that they are computed once."""
    rows.persist()
    try:
        yield
    finally:
        rows.unpersist()
