"""One micro-batch: a range of the log into every table, in the order of `graph.FLOWS`, ended by a row in the ledger.

Each write carries the transaction (checkpoint, flow, batch), so a batch that was cut off anywhere is repeated as a
whole: what stands is skipped, what is missing is written. What the batch adds is decided once, in silver; the folds
take it from there by its Kafka coordinates, also on a repeat.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT
from pipelines.graph import FLOWS, Comparable, Current, Flow, Judged, Log, New, Read, StartedAt
from pipelines.io.kafka_log import KafkaLog, OffsetRange, within
from pipelines.io.lake import Commit, Lake, Transaction
from pipelines.io.ledger import Counts, Ledger, LedgerRow, TableState
from pipelines.transforms.judge import judged


@dataclass(frozen=True)
class Batch:
    """What a micro-batch is asked to do."""

    batch_id: int
    checkpoint_id: str
    checkpoint_batch_id: int
    ranges: tuple[OffsetRange, ...]
    started_at: datetime

    def size(self, topic: str) -> int:
        return sum(part.size for part in self.ranges if part.topic == topic)

    def transaction(self, flow: str) -> Transaction:
        """Unique for ever: a new checkpoint counts from 0 again, so without its id Delta would take new for old."""
        return Transaction(f"{self.checkpoint_id}/{flow}", self.checkpoint_batch_id)


class MicroBatch:
    """Runs one batch. `wire_formats` is `csv` or `json` by topic name."""

    def __init__(self, batch: Batch, lake: Lake, log: KafkaLog, wire_formats: Mapping[str, str]) -> None:
        self._batch = batch
        self._lake = lake
        self._log = log
        self._wire_formats = wire_formats
        self._commits: dict[str, Commit] = {}

    def run(self, ledger: Ledger) -> LedgerRow:
        """Writes every table and then the ledger's row, which it returns."""
        for flow in FLOWS:
            if self._has_input(flow):
                self._commits[flow.name] = self._write(flow)
        row = LedgerRow(
            batch_id=self._batch.batch_id,
            checkpoint_id=self._batch.checkpoint_id,
            checkpoint_batch_id=self._batch.checkpoint_batch_id,
            started_at=self._batch.started_at,
            committed_at=datetime.now(UTC),
            ranges=self._batch.ranges,
            counts={topic: self._counts(topic) for topic in self._wire_formats},
            tables={flow.into.name: TableState(self._lake.version(flow.into), self._batch.batch_id) for flow in FLOWS},
        )
        ledger.append(row, self._batch.transaction("ledger"))
        return row

    def _has_input(self, flow: Flow) -> bool:
        """A batch often holds records of one topic only, or none that a rule rejects: nothing to write then."""
        if flow.counts == "quarantined":
            counts = self._counts(_topic(flow))
            return counts.read > counts.accepted
        return any(self._batch.size(read.topic.name) for read in flow.reads if isinstance(read, Log | Judged | New))

    def _counts(self, topic: str) -> Counts:
        """What the flows wrote; duplicates are what is left of the records read."""
        rows = {
            flow.counts: self._commits[flow.name].row_count
            for flow in FLOWS
            if flow.counts and _topic(flow) == topic and flow.name in self._commits
        }
        read, accepted, quarantined = rows.get("read", 0), rows.get("accepted", 0), rows.get("quarantined", 0)
        return Counts(read, accepted, read - accepted - quarantined, quarantined)

    def _write(self, flow: Flow) -> Commit:
        rows = flow.by(*(self._frame(read) for read in flow.reads))
        transaction = self._batch.transaction(flow.name)
        if flow.write == "append":
            return self._lake.append(rows, flow.into, transaction)
        with _kept(rows):
            if flow.publishes:
                self._log.send(flow.publishes.by(rows), flow.publishes.topic.name)
            return self._lake.merge(rows, flow.into, transaction)

    def _frame(self, read: Read) -> Any:
        match read:
            case Log(topic):
                return self._log.records(topic.name, self._batch.ranges)
            case StartedAt():
                return self._batch.started_at
            case Judged(topic, bronze):
                return judged(self._added(bronze, topic.name), topic, self._wire_formats[topic.name])
            case New(table, topic):
                return self._added(table, topic.name)
            case Comparable(table):
                first, last = self._append_times()
                bounds = F.col("occurred_at").between(F.lit(first - LATENESS_LIMIT), F.lit(last + FUTURE_TOLERANCE))
                return self._lake.read(table).where(bounds)
            case Current(table):
                return self._lake.read(table)

    def _added(self, table: Any, topic: str) -> DataFrame:
        return self._lake.read(table).where(within(part for part in self._batch.ranges if part.topic == topic))

    def _append_times(self) -> tuple[datetime, datetime]:
        """Least and greatest Kafka timestamp of the batch's events, as the files that archived them tell."""
        commit = self._commits["archive_events"]
        if commit.first_kafka_timestamp is None or commit.last_kafka_timestamp is None:
            return self._batch.started_at, self._batch.started_at
        return commit.first_kafka_timestamp, commit.last_kafka_timestamp


def _topic(flow: Flow) -> str:
    source = flow.reads[0]
    assert isinstance(source, Log | Judged)
    return source.topic.name


@contextmanager
def _kept(rows: DataFrame) -> Iterator[None]:
    """Holds the rows of a fold for both of its writes, so that they are computed once."""
    rows.persist()
    try:
        yield
    finally:
        rows.unpersist()
