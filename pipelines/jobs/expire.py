"""`pts expire`: rows of the gold tables that are older than their retention are let go."""

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import functions as F

from pipelines.commands import Expire
from pipelines.contracts.rules import FUTURE_TOLERANCE
from pipelines.errors import LakeMismatch, NotFound
from pipelines.graph import FLOWS, Flow
from pipelines.io.lake import Lake
from pipelines.io.ledger import Counts, Ledger, LedgerRow
from pipelines.jobs.batch import maintenance_batch
from pipelines.jobs.sole_writer import sole_writer
from pipelines.jobs.stream import LiveJob
from pipelines.settings import Settings
from pipelines.tables import SILVER_SHIP_EVENTS, TABLES
from pipelines.transforms.expiry import is_expired

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Expired:
    """What one table lets go: the rows of a kind whose time lies before `before`."""

    table: str
    rows: str
    before: datetime
    row_count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"before": self.before.isoformat()}


def run(command: Expire, settings: Settings) -> list[Expired]:
    """What each gold table let go; with `dry_run`, what it would.

    What goes follows from the log alone: the limit is a distance from the newest accepted scan, never from today. Late
    scans stay as good as before: one for a window that is gone does not bring back a part of it, and a package that was
    let go comes back whole, from ops.expired_reports.

    Raises:
        NotFound: There is no batch or no scan yet.
        LakeMismatch: The tables are not what the ledger says, a batch was cut off, or the newest scan is of a time to
            come.
        AnotherWriter: The live job runs.
    """
    with sole_writer(settings, "expire") as spark:
        job = LiveJob(spark, settings)
        job.insist_on_batches()
        if job.prepare():
            raise LakeMismatch("A batch was cut off between tables. `pts stream --drain` completes it; then try again.")
        if not command.dry_run:
            job.catch_up()
        assert job.last is not None
        return expire(job.last, job.lake, Ledger(spark, job.lake), dry_run=command.dry_run)


def expire(
    last: LedgerRow, lake: Lake, ledger: Ledger, *, dry_run: bool = False, now: datetime | None = None
) -> list[Expired]:
    """The same on a lake that is held, and whose tables all stand at the ledger's last row."""
    newest, now = _newest_scan(lake), now or datetime.now(UTC)
    if newest is None:
        raise NotFound(f"There is no scan in {lake.root} yet.")
    if newest > now + FUTURE_TOLERANCE:
        raise LakeMismatch(
            f"The newest scan is of {newest:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M}: a producer's clock is "
            "ahead. Counted from there, almost everything would be let go, so nothing is."
        )
    found = [(flow, _expired(flow, newest, lake)) for flow in FLOWS if flow.into.expiry]
    if not dry_run and any(each.row_count for _, each in found):
        _let_go(found, last, lake, ledger)
    return [each for _, each in found]


def _newest_scan(lake: Lake) -> datetime | None:
    (micros,) = lake.read(SILVER_SHIP_EVENTS).agg(F.unix_micros(F.max("occurred_at"))).collect()[0]
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _expired(flow: Flow, newest: datetime, lake: Lake) -> Expired:
    assert flow.into.expiry is not None
    before = newest - flow.into.expiry.after
    count = lake.read(flow.into).where(is_expired(flow.into.expiry, before)).count()
    return Expired(flow.into.name, flow.into.expiry.rows, before, count)


def _let_go(found: list[tuple[Flow, Expired]], last: LedgerRow, lake: Lake, ledger: Ledger) -> None:
    """First into the archive, then out of the table, then into the ledger.

    Cut off in between, the next start refuses the tables that the ledger does not know so, and says how to go on.
    """
    batch = maintenance_batch(last, "expire")
    for flow, expired in found:
        if expired.row_count and flow.into.expiry:
            condition = is_expired(flow.into.expiry, expired.before)
            if flow.archive:
                rows = lake.read(flow.into).where(condition)
                lake.merge(rows, flow.archive, batch.transaction(f"{flow.name}.archive"))
            lake.delete(condition, flow.into, batch.transaction(flow.name))
    limits = {expired.table: expired.before for _, expired in found}
    states = {
        table.name: replace(
            last.tables[table.name],
            version=lake.version(table),
            position=batch.batch_id,
            expired_before=limits.get(table.name),
        )
        for table in TABLES
        if table.name in last.tables
    }
    row = replace(
        last,
        batch_id=batch.batch_id,
        started_at=batch.started_at,
        committed_at=datetime.now(UTC),
        ranges=batch.ranges,
        counts={topic: Counts(0, 0, 0, 0) for topic in last.counts},
        tables=states,
    )
    ledger.append(row, batch.transaction("ledger"))
