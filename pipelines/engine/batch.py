"""What a micro-batch is asked to do, and where the tables are before it."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipelines.graph import CATCH_UP_GROUPS
from pipelines.io.delta.table_log import Transaction
from pipelines.io.kafka.log import OffsetRange, Offsets, ends, ranges_between, starts
from pipelines.state.ledger import NOTHING_YET, Ledger, LedgerRow, TableState


@dataclass(frozen=True)
class LogPosition:
    """A point of the log: the end of a batch."""

    batch_id: int
    offsets: Offsets

    @classmethod
    def of(cls, row: LedgerRow) -> "LogPosition":
        return cls(row.batch_id, row.end_offsets)


@dataclass(frozen=True)
class CatchUp:
    """Which groups of catch-up tables a batch brings up, and up to where; and whether large tables that were deferred
    are brought up to the end of the batch.
    """

    groups: tuple[str, ...]
    up_to: LogPosition
    ends_deferral: bool = False


END_OF_DEFERRAL = CatchUp((), LogPosition(NOTHING_YET, {}), ends_deferral=True)
"""No group is brought up."""


@dataclass(frozen=True)
class Batch:
    """What a micro-batch is asked to do.

    Attributes:
        batch_id: Counts up over the life of the lake.
        checkpoint_id: Identity of the streaming checkpoint that planned it.
        checkpoint_batch_id: Its number there.
        ranges: What it reads of the log.
        started_at: When it began.
        writer: Begins the app id of its transactions. The checkpoint's identity, unless the batch is maintenance.
        catch_up: Which catch-up tables it brings up, and how far; None for none.
        rebuilds: Tables that it rebuilds from silver.
    """

    batch_id: int
    checkpoint_id: str
    checkpoint_batch_id: int
    ranges: tuple[OffsetRange, ...]
    started_at: datetime
    writer: str
    catch_up: CatchUp | None = None
    rebuilds: frozenset[str] = frozenset()

    @property
    def end_position(self) -> LogPosition:
        """Where on the log it ends."""
        return LogPosition(self.batch_id, ends(self.ranges))

    def size(self, topic: str) -> int:
        return sum(part.size for part in self.ranges if part.topic == topic)

    def transaction(self, flow: str) -> Transaction:
        """Unique for ever: a new checkpoint counts from 0 again, so without its id Delta would take new for old."""
        # Delta knows no version below 0: maintenance right after a new checkpoint, which has planned nothing yet.
        return Transaction(f"{self.writer}/{flow}", max(self.checkpoint_batch_id, 0), self.batch_id)

    def catch_up_transaction(self, flow: str) -> Transaction:
        """The transaction of a catch-up table: named after how far it is brought, whichever batch brings it there."""
        assert self.catch_up is not None
        return Transaction(f"{self.checkpoint_id}/{flow}", self.catch_up.up_to.batch_id, self.batch_id)


def maintenance_batch(
    last: LedgerRow,
    command: str,
    *,
    catch_up: CatchUp | None = None,
    rebuilds: frozenset[str] = frozenset(),
) -> Batch:
    """A batch that reads nothing of the log. It brings the catch-up tables to where the ledger's last row ends, all
    of them unless `catch_up` says otherwise.
    """
    batch_id = last.batch_id + 1
    return Batch(
        batch_id=batch_id,
        checkpoint_id=last.checkpoint_id,
        checkpoint_batch_id=last.checkpoint_batch_id,
        ranges=ranges_between(last.end_offsets, last.end_offsets),
        started_at=datetime.now(UTC),
        writer=f"{command}-{uuid.uuid4()}",
        catch_up=catch_up or CatchUp(CATCH_UP_GROUPS, LogPosition(batch_id, last.end_offsets), ends_deferral=True),
        rebuilds=rebuilds,
    )


@dataclass(frozen=True)
class TablePositions:
    """Where the tables are before a batch.

    Attributes:
        tables: The states in the ledger's last row, by table name. A table that is not there holds nothing yet.
        reached: Up to where on the log each of them has come.
    """

    tables: Mapping[str, TableState] = field(default_factory=dict)
    reached: Mapping[str, Offsets] = field(default_factory=dict)

    @classmethod
    def after(cls, row: LedgerRow | None, ledger: Ledger) -> "TablePositions":
        return cls(row.tables, ledger.reached(row)) if row else cls()

    def then(self, row: LedgerRow, batch: Batch) -> "TablePositions":
        """After the next batch, which made the row."""
        offsets = {batch.batch_id: batch.end_position.offsets}
        if batch.catch_up and batch.catch_up.groups:
            offsets[batch.catch_up.up_to.batch_id] = batch.catch_up.up_to.offsets
        moved = {name: offsets[state.position] for name, state in row.tables.items() if state.position in offsets}
        before = self.reached if self.tables else dict.fromkeys(row.tables, starts(batch.ranges))
        return TablePositions(row.tables, {**before, **moved})
