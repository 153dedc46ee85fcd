"""A live job whose checkpoint is lost goes on from the ledger's last row, under a new checkpoint.

The ledger knows all that a checkpoint does, but for one thing: what the batch was to read that was cut off with it. So
what that batch has written is taken back, and what it read is read again, in other batches.
"""

import uuid
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.engine.integrity import NEW_CHECKPOINT, state_of
from pipelines.errors import InvalidInput, LakeMismatch, NotFound
from pipelines.graph import tables_of
from pipelines.io.delta import delta_rs
from pipelines.io.delta.catalog import is_gold, remedy
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.log import Offsets, ranges_between
from pipelines.io.spark.checkpoint import SEE, Checkpoint
from pipelines.io.spark.failures import explained
from pipelines.live.resume import (
    check_agreement,
    check_ledger,
    check_plan,
    check_promotions,
    starting_offsets,
)
from pipelines.state.exclusion import deleting_files
from pipelines.state.ledger import NOTHING_YET, Counts, Ledger, LedgerRow, TableState
from pipelines.tables import OPS_BATCHES, Table

NO_BATCH = -1
"""What stands before the first batch, in the lake and of a checkpoint."""

Changes = dict[str, list[Change]]
"""What was done to each table since the ledger's last row, by its name."""


def replace_checkpoint(lake: Lake, checkpoint: Checkpoint, begin: Offsets, end: Offsets) -> None:
    """Puts a new checkpoint in place of one that is missing, torn, not the ledger's, or with a plan that leads nowhere.

    First each table that is ahead of the ledger gets back the rows that the ledger says, in one commit. Then the
    checkpoint is moved aside, and a new one is made that begins where the ledger ends. Then a row of the ledger, which
    reads nothing, names it. Before that row the job starts no other way; called again, this goes on where it was cut
    off. After it, every start goes on from there.

    Nothing is sent to package-reports: what the lost batch has sent follows from the log, and is sent again.

    Args:
        lake: The tables. Nobody else may write them.
        checkpoint: The live job's.
        begin: First offset that each partition of the log still holds.
        end: Offset of the next record of each partition.

    Raises:
        InvalidInput: The checkpoint fits the ledger.
        LakeMismatch: A table cannot be brought back to what the ledger says. Nothing is changed then.
        LogTruncated, TopicMismatch: The log does not go on where the ledger ends. Nothing is changed then.
        AnotherWriter: Another command takes files out of the tables.
    """
    check_promotions(lake.root)
    lake.ensure(OPS_BATCHES)
    ledger = Ledger(lake)
    last = ledger.last()
    check_ledger(last, checkpoint)
    changes = {table.name: _changes(lake, table, last) for table in tables_of()}
    writers = {change.transaction.writer for each in changes.values() for change in each if change.transaction}
    if _fits(last, checkpoint, writers):
        raise InvalidInput(
            f"The checkpoint {checkpoint.path} fits the ledger: nothing is lost. Start without --new-checkpoint."
        )
    base = last or _nothing_yet(begin, writers)
    start = starting_offsets(base, checkpoint, begin, end)
    batch_id = base.batch_id + 1
    _restore(lake, base, changes, batch_id)
    query_id = str(uuid.uuid4())
    checkpoint.set_aside()
    checkpoint.begin(query_id, start)
    ledger.append(_row(lake, base, query_id), Transaction(f"{NEW_CHECKPOINT}/ledger", batch_id, batch_id))


def _changes(lake: Lake, table: Table, last: LedgerRow | None) -> list[Change]:
    known = last.tables.get(table.name) if last else TableState(0, NOTHING_YET)
    return list(lake.log(table).changes(after=known.version)) if known and lake.exists(table) else []


def _fits(last: LedgerRow | None, checkpoint: Checkpoint, writers: set[str]) -> bool:
    """Whether the job can start with the checkpoint that there is."""
    try:
        with explained():
            check_agreement(last, checkpoint)
            check_plan(last, checkpoint)
            return NEW_CHECKPOINT not in writers and (last is not None or writers <= {checkpoint.query_id()})
    except LakeMismatch:
        return False


def _nothing_yet(begin: Offsets, writers: set[str]) -> LedgerRow:
    """What stands before the ledger's first row. Whose plan the first batch was, only its writes tell."""
    if any(offset for partitions in begin.values() for offset in partitions.values()):
        raise LakeMismatch(
            f"The ledger ops.batches is empty, and the log begins at {begin}: nobody can tell whether the tables hold "
            f"records that it has lost. Point PTS_LAKE at a new place: the job builds the lake again {SEE}."
        )
    now = datetime.now(UTC)
    return LedgerRow(
        batch_id=NO_BATCH,
        checkpoint_id=min(writers - {NEW_CHECKPOINT}, default=""),
        checkpoint_batch_id=NO_BATCH,
        started_at=now,
        committed_at=now,
        ranges=ranges_between(begin, begin),
        counts={topic.name: Counts(0, 0, 0, 0) for topic in INPUT_TOPICS},
        tables={table.name: TableState(0, NOTHING_YET) for table in tables_of()},
    )


def _restore(lake: Lake, base: LedgerRow, changes: Changes, batch_id: int) -> None:
    """Gives the tables that are ahead the rows that the ledger says, after all tables were looked at."""
    versions = {table.name: _version_before(lake, table, base, changes[table.name]) for table in tables_of()}
    ahead = {name: version for name, version in versions.items() if version is not None}
    with deleting_files(lake.root) if ahead else nullcontext():
        for table in tables_of():
            if table.name in ahead:
                delta_rs.restore(lake.path(table), ahead[table.name], _restoring(table, batch_id))


def _restoring(table: Table, batch_id: int) -> Transaction:
    """The transaction of a restore, named after the ledger's row that tells of it: whoever ends what another has begun
    uses the same."""
    return Transaction(f"{NEW_CHECKPOINT}/{table.name}", batch_id, batch_id)


def _version_before(lake: Lake, table: Table, base: LedgerRow, changes: list[Change]) -> int | None:
    """The version to which the table goes back; None when it stays as it is: nobody has written it, or it is back
    already, or it is a gold table that the checks of the start will have rebuilt.
    """
    if _is_back(table, base, changes):
        return None
    damage = state_of(lake, table, base, base.checkpoint_id, base.checkpoint_batch_id + 1).damage
    version = changes[0].version - 1 if changes else None
    if version is not None and not damage:
        try:
            LakeReader(lake.root, {table.name: version}).check_files(table.name)
        except NotFound as error:
            damage = f"was written by a batch that is lost, and cannot go back: {str(error).removesuffix('.')}"
    if damage and not is_gold(table):
        raise LakeMismatch(f"Table {table.name} {damage}. {remedy(table)}")
    return None if damage else version


def _is_back(table: Table, base: LedgerRow, changes: list[Change]) -> bool:
    return bool(changes) and changes[-1].transaction == _restoring(table, base.batch_id + 1)


def _row(lake: Lake, base: LedgerRow, query_id: str) -> LedgerRow:
    """The ledger's next row: nothing is read, and the tables are where they were."""
    batch_id = base.batch_id + 1

    def state(table: Table) -> TableState:
        known, changes = base.tables[table.name], _changes(lake, table, base)
        return replace(
            known,
            version=changes[-1].version if _is_back(table, base, changes) else known.version,
            position=batch_id if known.position == base.batch_id else known.position,
        )

    states = {table.name: state(table) for table in tables_of() if table.name in base.tables}
    row = base.followed_by(states, datetime.now(UTC))
    return replace(row, checkpoint_id=query_id, checkpoint_batch_id=NO_BATCH)
