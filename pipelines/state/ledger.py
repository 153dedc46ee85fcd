"""The ledger `ops.batches`: which part of the log each batch took, and where every table stood after it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from pipelines.errors import LakeMismatch
from pipelines.io.delta.catalog import remedy
from pipelines.io.delta.definition import schema_of
from pipelines.io.delta.delta_rs import Spans
from pipelines.io.delta.lake import NO_BOUND, Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.kafka.log import OffsetRange, Offsets, ends, ranges_between, starts
from pipelines.tables import OPS_BATCHES

NOTHING_YET = -1
"""Position of a table that holds nothing of the log."""


@dataclass(frozen=True)
class Counts:
    """Records of one topic in one batch."""

    read: int
    accepted: int
    duplicate: int
    quarantined: int


@dataclass(frozen=True)
class TableState:
    """Where a table is after a batch.

    Attributes:
        version: Its Delta version.
        position: The batch up to which its rows follow the log.
        expired_before: The time up to which rows were removed; None if they never were.
    """

    version: int
    position: int
    expired_before: datetime | None = None


@dataclass(frozen=True)
class LedgerRow:
    """One micro-batch; see `pipelines/tables/ops_batches.py`."""

    batch_id: int
    checkpoint_id: str
    checkpoint_batch_id: int
    started_at: datetime
    committed_at: datetime
    ranges: tuple[OffsetRange, ...]
    counts: Mapping[str, Counts]
    tables: Mapping[str, TableState]
    replay_id: str | None = None

    @property
    def end_offsets(self) -> Offsets:
        return ends(self.ranges)

    def followed_by(
        self,
        tables: Mapping[str, TableState],
        started_at: datetime,
        counts: Mapping[str, Counts] | None = None,
        replay_id: str | None = None,
    ) -> "LedgerRow":
        """The next row, of a batch that reads nothing and may change tables, or correct what was counted before."""
        return replace(
            self,
            batch_id=self.batch_id + 1,
            started_at=started_at,
            committed_at=datetime.now(UTC),
            ranges=ranges_between(self.end_offsets, self.end_offsets),
            counts=counts or {topic: Counts(0, 0, 0, 0) for topic in self.counts},
            tables=tables,
            replay_id=replay_id,
        )


class Observer(Protocol):
    """Is told of the job from beside it: returns at once, and raises nothing."""

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        """A batch is in the ledger; it took so long, and its phases."""


class Ledger:
    """Appends to the ledger and reads its end."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def last(self) -> LedgerRow | None:
        """The newest row; None in a new lake. Raises `LakeMismatch` when the ledger lacks data files."""
        if damage := self._lake.missing_files(OPS_BATCHES):
            raise LakeMismatch(f"Table {OPS_BATCHES.name} {damage}. {remedy(OPS_BATCHES)}")
        # Not that of the greatest number alone: what no statistics speak of, may be greater.
        newest = self._rows([(self._lake.greatest(OPS_BATCHES, "batch_id") or 0, NO_BOUND)])
        return max(newest, key=lambda row: row.batch_id, default=None)

    def row(self, batch_id: int) -> LedgerRow | None:
        """The row of a batch; None when there is none."""
        return next(iter(self._rows([(batch_id, batch_id + 1)])), None)

    def reached(self, row: LedgerRow) -> dict[str, Offsets]:
        """Where on the log each table stood after a batch: by table name, the offsets at the end of its position; where
        the lake's first batch begins for one that holds nothing yet."""
        positions = {max(state.position, 0) for state in row.tables.values()}
        found = {each.batch_id: each for each in self._rows((position, position + 1) for position in positions)}
        offsets = {batch_id: each.end_offsets for batch_id, each in found.items()}
        if 0 in found:
            offsets[NOTHING_YET] = starts(found[0].ranges)
        return {name: offsets.get(state.position, {}) for name, state in row.tables.items()}

    def _rows(self, spans: Spans) -> list[LedgerRow]:
        return [_ledger_row(row) for row in self._lake.look_up(OPS_BATCHES, "batch_id", spans).to_pylist()]

    def append(self, row: LedgerRow, transaction: Transaction) -> None:
        """Adds the row once per transaction."""
        values = {
            "batch_id": row.batch_id,
            "checkpoint_id": row.checkpoint_id,
            "checkpoint_batch_id": row.checkpoint_batch_id,
            "started_at": row.started_at,
            "committed_at": row.committed_at,
            "offsets": [
                {
                    "kafka_topic": part.topic,
                    "kafka_partition": part.partition,
                    "start_offset": part.start,
                    "end_offset": part.end,
                }
                for part in row.ranges
            ],
            "counts": [
                {
                    "kafka_topic": topic,
                    "read_count": count.read,
                    "accepted_count": count.accepted,
                    "duplicate_count": count.duplicate,
                    "quarantined_count": count.quarantined,
                }
                for topic, count in row.counts.items()
            ],
            "tables": [
                {
                    "table_name": name,
                    "version": state.version,
                    "position": state.position,
                    "expired_before": state.expired_before,
                }
                for name, state in row.tables.items()
            ],
            "replay_id": row.replay_id,
        }
        schema = to_arrow_schema(schema_of(OPS_BATCHES), timezone="UTC")
        self._lake.append_rows(pa.Table.from_pylist([values], schema), OPS_BATCHES, transaction)


def _ledger_row(row: dict[str, Any]) -> LedgerRow:
    return LedgerRow(
        batch_id=row["batch_id"],
        checkpoint_id=row["checkpoint_id"],
        checkpoint_batch_id=row["checkpoint_batch_id"],
        started_at=row["started_at"],
        committed_at=row["committed_at"],
        ranges=tuple(
            OffsetRange(part["kafka_topic"], part["kafka_partition"], part["start_offset"], part["end_offset"])
            for part in row["offsets"]
        ),
        counts={
            count["kafka_topic"]: Counts(
                count["read_count"], count["accepted_count"], count["duplicate_count"], count["quarantined_count"]
            )
            for count in row["counts"]
        },
        tables={
            table["table_name"]: TableState(table["version"], table["position"], table["expired_before"])
            for table in row["tables"]
        },
        replay_id=row["replay_id"],
    )
