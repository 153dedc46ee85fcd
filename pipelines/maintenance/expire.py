"""`pts expire`: rows of the gold tables that are older than their retention are removed."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.commands import Expire
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.rules import FUTURE_TOLERANCE
from pipelines.engine.batch import maintenance_batch
from pipelines.errors import LakeMismatch, NotFound
from pipelines.graph import FLOWS, Flow
from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.maintenance import common
from pipelines.maintenance.sole_writer import sole_writer
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import SILVER_SHIP_EVENTS
from pipelines.transforms.expiry import is_expired


@dataclass(frozen=True)
class Expired:
    """What one table removes: the rows of a kind whose time lies before `before`."""

    table: str
    rows: str
    before: datetime
    row_count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"before": self.before.isoformat()}


def run(command: Expire, settings: Settings) -> list[Expired]:
    """What each gold table removed; with `dry_run`, what it would.

    What goes follows from the log alone: the limit is a distance from the newest accepted scan, never from today. Late
    scans stay as good as before: one for a window that is gone does not bring back a part of it, and a package that was
    removed comes back whole, from ops.expired_reports.

    Raises:
        NotFound: There is no batch or no scan yet.
        LakeMismatch: The tables are not what the ledger says, a batch was cut off, or the newest scan is of a time to
            come.
        AnotherWriter: Another command holds the lake, or the live job does not hand it over.
    """
    with sole_writer(settings, "expire") as spark:
        runner = common.checked_lake(spark, settings)
        if not command.dry_run:
            runner.catch_up()
        assert runner.last is not None
        return expire(runner.last, runner.lake, Ledger(runner.lake), dry_run=command.dry_run)


def expire(
    last: LedgerRow, lake: Lake, ledger: Ledger, *, dry_run: bool = False, now: datetime | None = None
) -> list[Expired]:
    """Expires rows of a lake that is held, and whose tables are all at the ledger's last row."""
    newest, now = _newest_scan(lake), now or datetime.now(UTC)
    if newest is None:
        raise NotFound(f"There is no scan in {lake.root} yet.")
    if newest > now + FUTURE_TOLERANCE:
        raise LakeMismatch(
            f"The newest scan is of {newest:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M}: a producer's clock is "
            "ahead. Counted from there, almost everything would be removed, so nothing is."
        )
    limits = {flow.into.name: newest - flow.into.expiry.after for flow in FLOWS if flow.into.expiry}
    found = [_expired(flow, limits[flow.into.name], lake) for flow in FLOWS if flow.into.expiry]
    if not dry_run and any(each.row_count for each in found):
        apply_expiry(limits, last, lake, ledger)
    return found


def _newest_scan(lake: Lake) -> datetime | None:
    with closing(duck.cursor()) as cursor:
        query = f"SELECT epoch_us(max(occurred_at)) FROM ({lake.rows(SILVER_SHIP_EVENTS)})"
        ((micros,),) = cursor.execute(query).fetchall()
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _expired(flow: Flow, before: datetime, lake: Lake) -> Expired:
    assert flow.into.expiry is not None
    with part(f"Counting what is too old in {flow.into.name}"), closing(duck.cursor()) as cursor:
        query = f"SELECT count(*) FROM ({lake.rows(flow.into)}) WHERE {is_expired(flow.into.expiry, before)}"
        ((count,),) = cursor.execute(query).fetchall()
    return Expired(flow.into.name, flow.into.expiry.rows, before, count)


def apply_expiry(limits: Mapping[str, datetime], last: LedgerRow, lake: Lake, ledger: Ledger) -> None:
    """Rows of the tables older than these times: first into the archive, then out of the table, then into the ledger.

    All tables must be at the ledger's last row. Cut off in between, the next start makes the tables that the
    ledger does not know so again.
    """
    batch = maintenance_batch(last, "expire")
    for flow in FLOWS:
        if flow.into.name not in limits or not flow.into.expiry:
            continue
        condition = is_expired(flow.into.expiry, limits[flow.into.name])
        with part(f"Removing what is too old from {flow.into.name}"), closing(duck.cursor()) as cursor:
            if flow.archive:
                rows = f"SELECT * FROM ({lake.rows(flow.into)}) WHERE {condition}"
                lake.merge(cursor, rows, flow.archive, batch.transaction(f"{flow.name}.archive"))
            lake.delete(cursor, condition, flow.into, batch.transaction(flow.name))
    common.end(batch, last, lake, ledger, limits)
