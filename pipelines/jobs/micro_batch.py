"""One micro-batch: a range of the log into every table, in the order of `graph.FLOWS`, ended by a row in the ledger.

Each write carries the transaction (checkpoint, flow, batch), so a batch that was cut off anywhere is repeated as a
whole: what stands is skipped, what is missing is written. What the batch adds is decided once, in silver; the folds
take it from there by its Kafka coordinates, also on a repeat, and also when they take several batches at once.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT
from pipelines.graph import FLOWS, Around, Comparable, Current, Flow, Judged, Log, New, Read, StartedAt
from pipelines.io.kafka_log import KafkaLog, OffsetRange, ends, ranges_between, within
from pipelines.io.lake import Lake
from pipelines.io.ledger import NOTHING_YET, Counts, Ledger, LedgerRow, TableState
from pipelines.io.table_log import Change, Transaction
from pipelines.jobs.batch import Batch, Standing
from pipelines.tables import OPS_BATCHES, TABLES, Table
from pipelines.transforms.expiry import is_expired
from pipelines.transforms.judge import judged


class MicroBatch:
    """Runs one batch.

    Args:
        batch: What to do.
        standing: Where the tables stand.
        lake: The tables.
        log: The topics.
        wire_formats: `csv` or `json` by topic name.
        is_due: Whether flows of a pace (`Flow.every`) run in this batch; asked once for each pace.
    """

    def __init__(
        self,
        batch: Batch,
        standing: Standing,
        lake: Lake,
        log: KafkaLog,
        wire_formats: Mapping[str, str],
        is_due: Callable[[timedelta], bool] = lambda _: True,
    ) -> None:
        self._batch = batch
        self._standing = standing
        self._lake = lake
        self._log = log
        self._wire_formats = wire_formats
        self._is_due = is_due
        self._commits: dict[str, Change] = {}

    def run(self, ledger: Ledger) -> LedgerRow:
        """Writes every table that is due, and then the ledger's row, which it returns."""
        due: dict[timedelta, bool] = {}
        for flow in FLOWS:
            if flow.every not in due:
                due[flow.every] = self._is_due(flow.every)
            if due[flow.every] and self._has_input(flow):
                self._commits[flow.name] = self._write(flow)
        waiting = {flow.into.name for flow in FLOWS if not due[flow.every]}
        row = LedgerRow(
            batch_id=self._batch.batch_id,
            checkpoint_id=self._batch.checkpoint_id,
            checkpoint_batch_id=self._batch.checkpoint_batch_id,
            started_at=self._batch.started_at,
            committed_at=datetime.now(UTC),
            ranges=self._batch.ranges,
            counts={topic: self._counts(topic) for topic in self._wire_formats},
            tables={table.name: self._state(table, waiting) for table in TABLES if table != OPS_BATCHES},
        )
        ledger.append(row, self._batch.transaction("ledger"))
        return row

    def _state(self, table: Table, waiting: set[str]) -> TableState:
        before = self._standing.tables.get(table.name, TableState(version=0, position=NOTHING_YET))
        return TableState(
            version=self._lake.version(table),
            position=before.position if table.name in waiting else self._batch.batch_id,
            expired_before=None if table.name in self._batch.rebuilds else before.expired_before,
        )

    def _has_input(self, flow: Flow) -> bool:
        """A batch often holds records of one topic only, or none that a rule rejects: nothing to write then."""
        if flow.into.name in self._batch.rebuilds:
            return True
        if flow.counts == "quarantined":
            counts = self._counts(_topic(flow))
            return counts.read > counts.accepted
        return any(self._size(flow, read) for read in flow.reads)

    def _size(self, flow: Flow, read: Read) -> int:
        match read:
            case Log(topic) | Judged(topic, _):
                return self._batch.size(topic.name)
            case New(_, topic):
                return sum(part.size for part in self._unfolded(flow) if part.topic == topic.name)
        return 0

    def _counts(self, topic: str) -> Counts:
        """What the flows wrote; duplicates are what is left of the records read."""
        rows = {
            flow.counts: self._commits[flow.name].row_count
            for flow in FLOWS
            if flow.counts and _topic(flow) == topic and flow.name in self._commits
        }
        read, accepted, quarantined = rows.get("read", 0), rows.get("accepted", 0), rows.get("quarantined", 0)
        return Counts(read, accepted, read - accepted - quarantined, quarantined)

    def _write(self, flow: Flow) -> Change:
        self._lake.version(flow.into)  # refuses what others changed before anything is made from it
        rows = flow.by(*(self._frame(flow, read) for read in flow.reads))
        transaction = self._batch.transaction(flow.name)
        if flow.into.name in self._batch.rebuilds:
            if flow.publishes and any(part.size for part in self._batch.ranges):
                # Which of them this batch changed is not known any more.
                self._log.send(flow.publishes.by(rows), flow.publishes.topic.name)
            # Under an identity of its own: a batch that was cut off may have written the old table already.
            return self._lake.replace(rows, flow.into, Transaction(f"rebuild-{uuid.uuid4()}/{flow.name}", 0))
        if flow.write == "append":
            return self._lake.append(rows, flow.into, transaction)
        fold = self._lake.merge if flow.write == "merge" else self._lake.add
        changed = rows.where(self._is_kept(flow))
        if not flow.publishes:
            return fold(changed, flow.into, transaction)
        with _held(changed):
            self._log.send(flow.publishes.by(changed), flow.publishes.topic.name)
            return fold(changed, flow.into, transaction)

    def _is_kept(self, flow: Flow) -> Column:
        """A late scan does not bring back, in part, what was let go as a whole."""
        state, expiry = self._standing.tables.get(flow.into.name), flow.into.expiry
        if not (state and state.expired_before and expiry) or flow.archive:
            return F.lit(True)
        return ~is_expired(expiry, state.expired_before)

    def _frame(self, flow: Flow, read: Read) -> Any:
        match read:
            case Log(topic):
                return self._log.records(topic.name, self._batch.ranges)
            case StartedAt():
                return self._batch.started_at
            case Judged(topic, bronze):
                return judged(
                    self._added(bronze, topic.name, self._batch.ranges), topic, self._wire_formats[topic.name]
                )
            case New(table, topic):
                return self._added(table, topic.name, self._unfolded(flow))
            case Comparable(table):
                first, last = self._append_times()
                return self._lake.read(table).where(_happened(first - LATENESS_LIMIT, last + FUTURE_TOLERANCE))
            case Around(new, margin):
                micros = F.unix_micros("occurred_at")  # a Python time would pass through the machine's zone
                span = self._frame(flow, new).agg(F.min(micros), F.max(micros)).collect()[0]
                begin, end = (F.timestamp_micros(F.lit(edge).cast("bigint")) for edge in span)
                return self._lake.read(new.table).where(_happened(begin - F.lit(margin), end + F.lit(margin)))
            case Current(table, archive):
                return self._current(flow, table, archive)

    def _current(self, flow: Flow, table: Table, archive: Table | None) -> DataFrame:
        rows = self._lake.read(table)
        if table == flow.into and table.name in self._batch.rebuilds:
            return rows.where(F.lit(False))
        if archive and self._lake.version(archive):
            return rows.unionByName(self._lake.read(archive).join(rows, list(table.key), "left_anti"))
        return rows

    def _unfolded(self, flow: Flow) -> tuple[OffsetRange, ...]:
        """What of the log the flow's table does not hold yet."""
        is_rebuilt = flow.into.name in self._batch.rebuilds
        reached = {} if is_rebuilt else self._standing.reached.get(flow.into.name, {})
        return ranges_between(reached, ends(self._batch.ranges))

    def _added(self, table: Table, topic: str, ranges: tuple[OffsetRange, ...]) -> DataFrame:
        return self._lake.read(table).where(within(part for part in ranges if part.topic == topic))

    def _append_times(self) -> tuple[datetime, datetime]:
        """Least and greatest Kafka timestamp of the batch's events, as the files that archived them tell."""
        return self._commits["archive_events"].kafka_timestamps or (self._batch.started_at, self._batch.started_at)


def _topic(flow: Flow) -> str:
    source = flow.reads[0]
    assert isinstance(source, Log | Judged)
    return source.topic.name


def _happened(first: datetime | Column, last: datetime | Column) -> Column:
    return F.col("occurred_at").between(first, last)


@contextmanager
def _held(rows: DataFrame) -> Iterator[None]:
    """Holds rows that are used twice, so that they are computed once."""
    rows.persist()
    try:
        yield
    finally:
        rows.unpersist()
