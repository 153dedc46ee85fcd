"""The tables hold what the ledger says, or the start is refused."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pipelines.errors import LakeMismatch
from pipelines.graph import FLOWS, Flow, flows_into, tables_of
from pipelines.io.delta.catalog import is_gold, remedy
from pipelines.io.delta.lake import Lake
from pipelines.state.ledger import LedgerRow
from pipelines.tables import OPS_EXPIRED_REPORTS, Table

MAINTENANCE = re.compile(r"(rebuild|expire|backfill)-")
"""How the transactions of commands begin that write without reading the log."""

NEW_CHECKPOINT = "new-checkpoint"
"""How the transactions of a start begin that takes back what a lost batch had written."""


FORMER_CATCH_UP_FLOWS = ("archive_events", "archive_routes", "quarantine_events", "quarantine_routes")
"""Flows of earlier code into tables that caught up then, and are in every batch now."""


@dataclass(frozen=True)
class State:
    """How a table stands to the ledger.

    Attributes:
        table: The table.
        is_ahead: The batch that was cut off has written it.
        is_ahead_to: A catch-up that was cut off has brought it up to this batch; None otherwise.
        is_half_done: A maintenance command has written it, and was cut off.
        damage: What is wrong with it, for a person; None when nothing is.
    """

    table: Table
    is_ahead: bool = False
    is_ahead_to: int | None = None
    is_half_done: bool = False
    damage: str | None = None


def prepare(
    lake: Lake,
    last: LedgerRow | None,
    checkpoint_id: str | None,
    cut_off: int | None,
    rebuilds: frozenset[str],
    flows: Sequence[Flow] = FLOWS,
) -> list[State]:
    """Creates the tables that are not there yet, and checks the others against their records and the ledger.

    Args:
        lake: The tables. It takes note of their versions: what follows must be its own.
        last: The ledger's newest row.
        checkpoint_id: Identity of the checkpoint that plans the batches.
        cut_off: Number of the batch that the checkpoint has planned and the ledger does not have; None without one.
        rebuilds: Tables whose rows are not looked at, because they are about to be rebuilt.
        flows: What makes the tables.

    Raises:
        LakeMismatch: A table is not as its record says; or it is gone, went back, lacks files, or has rows that another
            program or a batch unknown to the checkpoint wrote. All such tables are named.
    """

    def examined(table: Table) -> State:
        is_kept = table.name not in rebuilds
        found = state_of(lake, table, last, checkpoint_id, cut_off, flows) if is_kept else State(table)
        if not found.damage:
            lake.ensure(table)
        return found

    with ThreadPoolExecutor() as pool:  # each waits for a job of Delta's more than it works
        states = list(pool.map(examined, tables_of(flows)))
    if damaged := [state for state in states if state.damage]:
        sentences = ". ".join(f"Table {state.table.name} {state.damage}" for state in damaged)
        raise LakeMismatch(f"{sentences}. {remedy(*(state.table for state in damaged))}")
    return states


def state_of(
    lake: Lake,
    table: Table,
    last: LedgerRow | None,
    checkpoint_id: str | None,
    cut_off: int | None,
    flows: Sequence[Flow] = FLOWS,
) -> State:
    """How one table stands to the ledger; see `prepare`.

    Raises `LakeMismatch` when it was written by a batch that the checkpoint cannot have planned after the ledger.
    """
    expected = last.tables[table.name].version if last and table.name in last.tables else 0
    ledger_says = (
        f"after batch {last.batch_id} the ledger has it at version {expected}" if last else "the ledger is empty"
    )
    if not lake.exists(table):
        return State(table, damage=f"is gone, but {ledger_says}" if expected else None)
    log = lake.log(table)
    if (version := log.newest_version()) < expected:
        return State(table, damage=f"is at version {version}, but {ledger_says}")
    changes = list(log.changes(after=expected))
    by_maintenance = [
        change for change in changes if change.transaction and MAINTENANCE.match(change.transaction.writer)
    ]
    turn_up_to = None
    for change in changes:
        if change in by_maintenance and (is_gold(table) or table == OPS_EXPIRED_REPORTS):
            continue  # what it left half done can be rebuilt; the archive counts only where the report is gone
        if change.transaction and change.transaction.writer == NEW_CHECKPOINT:
            raise LakeMismatch(
                "A start with a new checkpoint was cut off between tables. `pts stream --new-checkpoint` ends it."
            )
        if change.transaction is None or change.transaction.writer != checkpoint_id:
            return State(table, damage=f"was changed: {change.description}, but {ledger_says}")
        if change.transaction.app_id.partition("/")[2] in FORMER_CATCH_UP_FLOWS:
            raise LakeMismatch(
                f"Table {table.name} was written in a catch-up of an earlier version of this code, which was cut off. "
                "`pts stream --drain` of that version ends it; then start this one."
            )
        number, follows = change.transaction.version, any(flow.catch_up_group for flow in flows_into(table, flows))
        if follows and last and last.tables[table.name].position < number <= last.batch_id + 1:
            turn_up_to = number
        elif follows or number != cut_off:
            raise LakeMismatch(
                f"Table {table.name} was written by batch {number} of checkpoint {checkpoint_id}, but the batch after "
                f"the ledger that the checkpoint has planned is {cut_off}: they were restored from different times. "
                "Restore both from the same, or rebuild the lake from the log (docs/runbook.md, 'A lost checkpoint')."
            )
    if damage := lake.missing_files(table):
        return State(table, damage=damage)
    lake.commits.versions[table.name] = version
    return State(
        table,
        is_ahead=turn_up_to is None and len(changes) > len(by_maintenance),
        is_ahead_to=turn_up_to,
        is_half_done=is_gold(table) and bool(by_maintenance),
    )
