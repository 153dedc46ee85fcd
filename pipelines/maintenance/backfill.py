"""`pts backfill`: the window tables' rows of an interval, made anew from silver while the live job goes on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.commands import Backfill
from pipelines.contracts.rules import ALERT_WINDOW, SLIDING_WINDOW, TUMBLING_WINDOW
from pipelines.engine.batch import maintenance_batch
from pipelines.errors import InvalidInput
from pipelines.graph import FLOWS, ROW_TIMES, Current, Flow, Read, with_dependents
from pipelines.io.delta.lake import Lake
from pipelines.io.spark.spark_job import spark_job
from pipelines.maintenance import common
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.snapshots import is_settled, snapshot
from pipelines.state.writer_lease import borrowed, correcting
from pipelines.tables import SILVER_SHIP_EVENTS, Table
from pipelines.transforms.expiry import is_expired

REACH = max(SLIDING_WINDOW, TUMBLING_WINDOW, ALERT_WINDOW)
"""How far a window or an alert reaches beyond the time by which it is found."""

WINDOW_FLOWS = tuple(flow for flow in FLOWS if flow.is_fold and flow.turn)

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
class Anew:
    """A table's rows of the interval as they are to be, beside those that it has."""

    flow: Flow
    rows: DataFrame
    found: Backfilled


def run(command: Backfill, settings: Settings) -> list[Backfilled]:
    """Replaces exactly the rows of the interval, in one commit per table; with `dry_run`, tells what would change. A
    window belongs to it when it begins in `[begin, end)`, an alert when its failure happened there.

    First they are compared at the newest complete batch, while the live job runs. Only if a row is wrong, the job waits
    between two batches while the interval is made anew as of then: with every scan that was accepted until that moment.
    A scan for the interval that comes meanwhile is in the log, and is added by the job's next batches.

    Silver is the log as the rules judge it, each scan once; a wrong rule is corrected with `pts replay`.

    Raises:
        InvalidInput: Not a window table.
        NotFound: The lake has no complete batch yet.
        LakeMismatch: The tables are not what the ledger says, or a batch was cut off.
        AnotherWriter: The live job did not lend the lake, or another command has it.
    """
    names = chosen(command.tables)
    spans = [(command.begin, command.end)]
    at = snapshot(settings.lake_root)
    with spark_job(settings, "backfill") as spark:
        if not command.dry_run and not is_settled(settings.lake_root):
            common.settle(spark, settings)  # that batch is of tables that a promotion has replaced
            at = snapshot(settings.lake_root)
        with made_anew(names, spans, _at(spark, settings.lake_root, at.versions), at.expired_before) as tables:
            found = [table.found for table in tables]
        if command.dry_run or all(table.is_right for table in found):
            return found
        with correcting(settings.lake_root), borrowed(settings.lake_root):
            job = common.checked_job(spark, settings)
            job.catch_up()
            assert job.last is not None
            return backfill(names, spans, job.last, job.lake, Ledger(spark, job.lake))


def backfill(names: frozenset[str], spans: Spans, last: LedgerRow, lake: Lake, ledger: Ledger) -> list[Backfilled]:
    """The same on a lake that is held, and whose tables all stand at the ledger's last row.

    Cut off in between, the next start makes the tables anew that the ledger does not know so.
    """
    batch = maintenance_batch(last, "backfill")
    expired_before = {name: state.expired_before for name, state in last.tables.items()}
    with made_anew(names, spans, lake.read, expired_before) as tables:
        wrong = [table for table in tables if not table.found.is_right]
        for table in wrong:
            into = table.flow.into
            lake.replace_where(table.rows, within(into, spans), into, batch.transaction(table.flow.name))
        if wrong:
            common.end(batch, last, lake, ledger)
        return [table.found for table in tables]


@contextmanager
def made_anew(
    names: Iterable[str],
    spans: Spans,
    read: Callable[[Table], DataFrame],
    expired_before: Mapping[str, datetime | None],
) -> Iterator[list[Anew]]:
    """The window tables' rows of intervals, computed from silver, and compared with those that are there.

    Args:
        names: The tables.
        spans: The intervals.
        read: Gives a table's rows.
        expired_before: By table name, the time before which rows were let go: they stay away.
    """
    near = [(begin - REACH, end + REACH) for begin, end in spans]
    scans = read(SILVER_SHIP_EVENTS).where(_is_in("occurred_at", near))
    made: dict[str, DataFrame] = {}

    def frame(each: Read) -> DataFrame:
        return made.get(each.table.name, read(each.table)) if isinstance(each, Current) else scans

    with ExitStack() as held:

        def hold(rows: DataFrame) -> DataFrame:
            held.callback(rows.persist().unpersist)
            return rows

        hold(scans)
        tables = []
        for flow in WINDOW_FLOWS:
            into, is_asked_for = flow.into, F.expr(within(flow.into, spans))
            if into.name not in names:
                continue
            rows = flow.by(*map(frame, flow.reads)).where(is_asked_for)
            if into.expiry and (limit := expired_before.get(into.name)):
                rows = rows.where(~is_expired(into.expiry, limit))
            made[into.name] = hold(rows)
            there = hold(read(into).where(is_asked_for))
            added, removed = rows.exceptAll(there).count(), there.exceptAll(rows).count()
            tables.append(Anew(flow, rows, Backfilled(into.name, rows.count(), added, removed)))
        yield tables


def chosen(tables: Iterable[str]) -> frozenset[str]:
    """The tables and those made from them; without any, all with windows. Raises `InvalidInput` for others."""
    known = [flow.into.name for flow in WINDOW_FLOWS]
    if unknown := [name for name in tables if name not in known]:
        raise InvalidInput(f"{', '.join(unknown)} has no windows. These can be backfilled: {', '.join(known)}.")
    return with_dependents(tables or known)


def _at(spark: SparkSession, root: str, versions: Mapping[str, int]) -> Callable[[Table], DataFrame]:
    lake = Lake(spark, root)
    return lambda table: spark.read.format("delta").option("versionAsOf", versions[table.name]).load(lake.path(table))


def within(table: Table, spans: Spans) -> str:
    """SQL: whether a row of a window table belongs to one of the intervals."""
    return _is_in(next(name for name in ROW_TIMES if name in table.column_names), spans)


def _is_in(column: str, spans: Spans) -> str:
    return " OR ".join(f"({column} >= {_sql(begin)} AND {column} < {_sql(end)})" for begin, end in spans)


def _sql(time: datetime) -> str:
    return f"TIMESTAMP '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC'"
