"""`pts backfill`: the window tables' rows of an interval, recomputed from silver while the live job goes on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from duckdb import DuckDBPyConnection as Cursor

from pipelines.commands import Backfill
from pipelines.contracts.rules import ALERT_WINDOW, SLIDING_WINDOW, TUMBLING_WINDOW
from pipelines.engine.batch import maintenance_batch
from pipelines.errors import InvalidInput
from pipelines.graph import FLOWS, Current, Flow, with_dependents
from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.spark.spark_job import spark_job
from pipelines.maintenance import common
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.exclusion import correcting
from pipelines.state.handover import handed_over
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.snapshots import is_settled, snapshot
from pipelines.tables import SILVER_SHIP_EVENTS, Table
from pipelines.transforms.expiry import is_expired, moment

LOOKBACK = max(SLIDING_WINDOW, TUMBLING_WINDOW, ALERT_WINDOW)
"""How far a window or an alert reaches beyond the time by which it is found."""

WINDOW_FLOWS = tuple(flow for flow in FLOWS if flow.is_fold and flow.catch_up_group)

Spans = Sequence[tuple[datetime, datetime]]
"""Half-open intervals of event time."""


@dataclass(frozen=True)
class Backfilled:
    """What became of one table's rows of the interval; with `dry_run`, what would.

    Attributes:
        table: Its name.
        row_count: How many there are to be.
        added_count: Of these, how many the table did not have as they are.
        removed_count: Rows that it had and should not.
    """

    table: str
    row_count: int
    added_count: int
    removed_count: int

    @property
    def is_right(self) -> bool:
        """Whether nothing is to be done."""
        return not self.added_count and not self.removed_count

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Recomputed:
    """A table's rows of the interval as they are to be, beside those that it has.

    Attributes:
        flow: What makes them.
        rows: A query that gives them.
        difference: From the rows that are there.
    """

    flow: Flow
    rows: str
    difference: Backfilled


def run(command: Backfill, settings: Settings, flows: Sequence[Flow] = WINDOW_FLOWS) -> list[Backfilled]:
    """Replaces exactly the rows of the interval, in one commit per table; with `dry_run`, tells what would change. A
    window belongs to it when it begins in `[begin, end)`, an alert when its failure happened there.

    First they are compared at the newest consistent batch, while the live job runs. Only if a row is wrong, the job
    waits between two batches while the interval is recomputed as of then: with every scan that was accepted until that
    moment.
    A scan for the interval that comes meanwhile is in the log, and is added by the job's next batches.

    Silver is the log as the rules judge it, each scan once; a wrong rule is corrected with `pts replay`.

    Raises:
        InvalidInput: Not a window table.
        NotFound: The lake has no consistent batch yet.
        LakeMismatch: The tables are not what the ledger says, or a batch was cut off.
        AnotherWriter: The live job did not hand over the lease, or another command has it.
    """
    names = chosen(command.tables)
    spans = [(command.begin, command.end)]
    at = snapshot(settings.lake_root)
    with spark_job(settings, "backfill") as spark:
        if not command.dry_run and not is_settled(settings.lake_root):
            common.settle(spark, settings)  # that batch is of tables that a promotion has replaced
            at = snapshot(settings.lake_root)
        lake = Lake(spark, settings.lake_root)
        with closing(duck.cursor()) as cursor:
            then = partial(_rows_at, lake, at.versions)
            made = recomputed(cursor, names, spans, then, at.expired_before, flows)
            differences = [table.difference for table in made]
        if command.dry_run or all(table.is_right for table in differences):
            return differences
        with correcting(settings.lake_root), handed_over(settings.lake_root):
            runner = common.checked_lake(spark, settings)
            runner.catch_up()
            assert runner.last is not None
            return backfill(names, spans, runner.last, runner.lake, Ledger(runner.lake), flows)


def backfill(
    names: frozenset[str],
    spans: Spans,
    last: LedgerRow,
    lake: Lake,
    ledger: Ledger,
    flows: Sequence[Flow] = WINDOW_FLOWS,
) -> list[Backfilled]:
    """Recomputes rows of a lake that is held, and whose tables are all at the ledger's last row.

    Cut off in between, the next start rebuilds the tables that the ledger does not know so.
    """
    batch = maintenance_batch(last, "backfill")
    expired_before = {name: state.expired_before for name, state in last.tables.items()}
    with closing(duck.cursor()) as cursor:
        tables = recomputed(cursor, names, spans, lake.rows, expired_before, flows)
        wrong = [table for table in tables if not table.difference.is_right]
        for table in wrong:
            into = table.flow.into
            lake.replace_where(cursor, table.rows, within(into, spans), into, batch.transaction(table.flow.name))
    if wrong:
        common.end(batch, last, lake, ledger)
    return [table.difference for table in tables]


def recomputed(
    cursor: Cursor,
    names: Iterable[str],
    spans: Spans,
    rows_of: Callable[[Table], str],
    expired_before: Mapping[str, datetime | None],
    flows: Sequence[Flow] = WINDOW_FLOWS,
) -> list[Recomputed]:
    """The window tables' rows of intervals, computed from silver, and compared with those that are there.

    Args:
        cursor: Holds the rows.
        names: The tables.
        spans: The intervals.
        rows_of: Gives a query for a table's rows.
        expired_before: By table name, the time before which rows were removed: they stay away.
        flows: What makes them.
    """
    near = [(begin - LOOKBACK, end + LOOKBACK) for begin, end in spans]
    with part("Reading scans"):
        scans = rows_of(SILVER_SHIP_EVENTS)
        _hold(cursor, "near_scans", f"SELECT * FROM ({scans}) WHERE {_is_in('occurred_at', near)}")
    made: dict[str, str] = {}
    tables = []
    for flow in flows:
        into, is_asked_for = flow.into, within(flow.into, spans)
        if into.name not in names:
            continue
        for name, read in flow.reads.items():
            rows = "FROM near_scans"
            if isinstance(read, Current):
                rows = made.get(read.table.name, rows_of(read.table))
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {rows}")
        kept = f"NOT {is_expired(into.expiry, expired_before.get(into.name))}"
        rows, there = f"made_{flow.name}", f"there_{flow.name}"
        columns = ", ".join(into.column_names)
        with part(f"Computing {into.name}"):
            _hold(cursor, rows, f"SELECT {columns} FROM ({flow.by}) WHERE ({is_asked_for}) AND {kept}")
        _hold(cursor, there, f"SELECT {columns} FROM ({rows_of(into)}) WHERE {is_asked_for}")
        made[into.name] = f"FROM {rows}"
        counts = (f"(SELECT count(*) FROM ({query}))" for query in (
            f"FROM {rows}", f"FROM {rows} EXCEPT ALL FROM {there}", f"FROM {there} EXCEPT ALL FROM {rows}"
        ))  # fmt: skip
        difference = Backfilled(into.name, *cursor.execute(f"SELECT {', '.join(counts)}").fetchall()[0])
        tables.append(Recomputed(flow, f"FROM {rows}", difference))
    return tables


def _hold(cursor: Cursor, name: str, rows: str) -> None:
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {rows}")


def chosen(tables: Iterable[str]) -> frozenset[str]:
    """The tables and those made from them; without any, all with windows. Raises `InvalidInput` for others."""
    known = [flow.into.name for flow in WINDOW_FLOWS]
    if unknown := [name for name in tables if name not in known]:
        raise InvalidInput(f"{', '.join(unknown)} has no windows. These can be backfilled: {', '.join(known)}.")
    return with_dependents(tables or known)


def _rows_at(lake: Lake, versions: Mapping[str, int], table: Table) -> str:
    return lake.rows(table, version=versions[table.name])


def within(table: Table, spans: Spans) -> str:
    """SQL: whether a row of a window table belongs to one of the intervals."""
    return _is_in(str(table.row_time), spans)


def _is_in(column: str, spans: Spans) -> str:
    return " OR ".join(f"({column} >= {moment(begin)} AND {column} < {moment(end)})" for begin, end in spans)
