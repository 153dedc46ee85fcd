"""The tables hold what the ledger says, or the start is refused."""

from concurrent.futures import ThreadPoolExecutor

from pipelines.errors import LakeMismatch
from pipelines.io.lake import Lake, way_out
from pipelines.io.ledger import LedgerRow
from pipelines.tables import OPS_BATCHES, OPS_EXPIRED_REPORTS, TABLES, Table


def prepare(lake: Lake, last: LedgerRow | None, checkpoint_id: str | None, rebuilds: frozenset[str]) -> bool:
    """Creates the tables that are not there yet, and checks the others against their records and the ledger.

    Args:
        lake: The tables. It takes note of their versions: what follows must be its own.
        last: The ledger's newest row.
        checkpoint_id: Identity of the checkpoint that plans the batches.
        rebuilds: Tables whose rows are not looked at, because they are about to be made anew.

    Returns:
        Whether the batch after the ledger's last has written some tables already, and was then cut off.

    Raises:
        LakeMismatch: A table is not as its record says; or it is gone, went back, lacks files, or has rows that another
            program, a maintenance command that was cut off, or a batch unknown to the ledger wrote.
    """

    def is_ahead(table: Table) -> bool:
        found = table.name not in rebuilds and _is_ahead(lake, table, last, checkpoint_id)
        lake.ensure(table)
        return found

    with ThreadPoolExecutor() as pool:  # each waits for a job of Delta's more than it works
        return any(list(pool.map(is_ahead, (table for table in TABLES if table != OPS_BATCHES))))


def _is_ahead(lake: Lake, table: Table, last: LedgerRow | None, checkpoint_id: str | None) -> bool:
    expected = last.tables[table.name].version if last and table.name in last.tables else 0
    ledger_says = (
        f"after batch {last.batch_id} the ledger has it at version {expected}" if last else "the ledger is empty"
    )
    next_number = last.checkpoint_batch_id + 1 if last else 0
    if not lake.exists(table):
        if not expected:
            return False
        raise LakeMismatch(f"Table {table.name} is gone, but {ledger_says}. {way_out(table)}")
    if (version := lake.log(table).newest_version()) < expected:
        raise LakeMismatch(f"Table {table.name} is at version {version}, but {ledger_says}. {way_out(table)}")
    changes = list(lake.log(table).changes(after=expected))
    for change in changes:
        if table == OPS_EXPIRED_REPORTS and change.transaction and change.transaction.writer.startswith("expire-"):
            continue  # It counts only for packages that gold.remaining_stops does not have.
        if change.transaction is None or change.transaction.writer != checkpoint_id:
            raise LakeMismatch(
                f"Table {table.name} was changed: {change.description}, but {ledger_says}. {way_out(table)}"
            )
        if change.transaction.version != next_number:
            raise LakeMismatch(
                f"Table {table.name} was written by batch {change.transaction.version} of checkpoint {checkpoint_id}, "
                f"but the next batch after the ledger is {next_number}: they were restored from different times. "
                "Restore both from the same, or rebuild the lake from the log (docs/runbook.md, 'A lost checkpoint')."
            )
    if missing := lake.missing_files(table):
        raise LakeMismatch(
            f"Table {table.name} lacks {len(missing)} of its data files, for example {missing[0]}. {way_out(table)}"
        )
    lake.versions[table.name] = version
    return table != OPS_EXPIRED_REPORTS and bool(changes)
