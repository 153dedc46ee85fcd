"""Cutting a list of records into micro-batches, and running them without a broker."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipelines.contracts.wire import Wire
from pipelines.engine.batch import Batch, CatchUp, TablePositions
from pipelines.engine.micro_batch import MicroBatch
from pipelines.graph import CATCH_UP_GROUPS, FLOWS, Flow
from pipelines.io.delta.commit_watch import CommitWatch
from pipelines.io.delta.data_files import DataFile
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.io.kafka.log import OffsetRange, ends, offsets_json, starts
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import TABLES, Table
from tests.comparison import COMPARED, Rows, stored_rows
from tests.memory_log import MemoryLog
from tests.oracle.records import LogRecord

WIRES = {"ship-events": Wire("csv"), "ship-routes": Wire("csv")}
PLANNED = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'
STARTED_AT = datetime(2026, 3, 1, 11, tzinfo=UTC)


class Crashed(Exception):
    """Stands for the end of the process."""


class CrashingLake(Lake):
    """Ends the process after a given number of writes, or after that of a table: those under way beside the last may
    still be done, or not.

    Attributes:
        written: The tables that were written.
    """

    def __init__(self, spark: SparkSession, root: str, writes: int | str) -> None:
        super().__init__(spark, root)
        self.commits = _CrashingWatch(self)
        self._writes = writes
        self.written: list[str] = []

    def commit(
        self, table: Table, transaction: Transaction, added: Sequence[DataFile], removed: Sequence[str] = ()
    ) -> Change | None:
        made = super().commit(table, transaction, added, removed)
        return self.noted(table, made) if added or removed else made

    def noted(self, table: Table, made: Change | None) -> Change | None:
        if made:
            self.written.append(table.name)
            self.crash_if_over()
        return made

    def crash_if_over(self) -> None:
        if self._writes in self.written if isinstance(self._writes, str) else len(self.written) >= self._writes:
            raise Crashed


class _CrashingWatch(CommitWatch):
    def __init__(self, lake: CrashingLake) -> None:
        super().__init__(lake)
        self._lake = lake

    def version(self, table: Table) -> int:
        self._lake.crash_if_over()
        return super().version(table)

    def by(self, table: Table, transaction: Transaction) -> Change | None:
        return self._lake.noted(table, super().by(table, transaction))


def batches(*parts: Sequence[LogRecord], checkpoint: str = "checkpoint") -> list[Batch]:
    """One batch per part. A partition's records follow each other from part to part."""
    partitions = sorted({(record.topic, record.partition) for part in parts for record in part})
    reached = {
        partition: min(r.offset for part in parts for r in part if (r.topic, r.partition) == partition)
        for partition in partitions
    }
    made = []
    for number, part in enumerate(parts):
        ranges = []
        for topic, partition in partitions:
            offsets = [record.offset for record in part if (record.topic, record.partition) == (topic, partition)]
            start = reached[topic, partition]
            reached[topic, partition] = end = max(offsets, default=start - 1) + 1
            ranges.append(OffsetRange(topic, partition, start, end))
        made.append(Batch(number, checkpoint, number, tuple(ranges), STARTED_AT, checkpoint))
    return made


def run(
    lake: Lake,
    spark: SparkSession,
    records: Sequence[LogRecord],
    todo: Iterable[Batch],
    catch_up: Callable[[Batch], CatchUp | None] = lambda batch: CatchUp(CATCH_UP_GROUPS, batch.end_position),
    wires: Mapping[str, Wire] = WIRES,
    flows: Sequence[Flow] = FLOWS,
) -> tuple[list[LedgerRow], MemoryLog]:
    """Runs the batches on a lake, after those that its ledger has.

    Catch-up tables move with every batch, and as far, unless `catch_up` says otherwise of a batch without a word on it.
    """
    log: Any = MemoryLog(spark, records)
    ledger = Ledger(lake)
    positions, rows = TablePositions.after(ledger.last(), ledger), []
    for batch in todo:
        asked = batch if batch.catch_up else replace(batch, catch_up=catch_up(batch))
        rows.append(MicroBatch(asked, positions, lake, log, wires, flows).run(ledger))
        positions = positions.then(rows[-1], asked)
    return rows, log


def new_lake(spark: SparkSession, root: str) -> Lake:
    """A lake with all tables, empty."""
    lake = Lake(spark, root)
    for table in TABLES:
        lake.ensure(table)
    return lake


def tables(lake: Lake) -> dict[str, Rows]:
    """The rows of every table that is a function of the log, as the oracle writes them."""
    return {name: stored_rows(lake.root, name, without=("detail",)) for name in COMPARED}


def write_checkpoint(root: Path, planned: Sequence[Batch], cut_off: bool = False) -> None:
    """What Spark leaves of the batches; of the last only its plan, if it was cut off."""
    texts = {
        "metadata": json.dumps({"id": planned[0].checkpoint_id}),
        "sources/0/0": f"\0v1\n{offsets_json(starts(planned[0].ranges))}",
    }
    for batch in planned:
        texts[f"offsets/{batch.checkpoint_batch_id}"] = f"v1\n{PLANNED}\n{offsets_json(ends(batch.ranges))}"
        if batch is not planned[-1] or not cut_off:
            texts[f"commits/{batch.checkpoint_batch_id}"] = 'v1\n{"nextBatchWatermarkMs":0}'
    for name, text in texts.items():
        path = root / "_checkpoints" / "live" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
