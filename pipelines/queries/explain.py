"""`pts report --explain`: which records made a package's report, in which batches, and how it changed over time."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.keys.clearance import Clearance
from pipelines.progress import part
from pipelines.queries.accepted_records import REPORTS, AcceptedRecord, Batch, accepted_records_of, batches_of
from pipelines.queries.repeats import Repeat, repeats_of
from pipelines.queries.report import PackageReport, Row, package_report, sources_of
from pipelines.settings import Settings
from pipelines.state.snapshots import recreated_tables
from pipelines.tables import SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES
from pipelines.values import iso_utc, rows_of

HISTORY_LIMIT = 20
MADE = "made the report"
PENDING = "not in the ledger yet"
SAID = ("number_of_remaining_stops", "current_stop_id", "end_stop_id", "status_code")


@dataclass(frozen=True)
class Entry:
    """What a batch brought of the package, and what the report said after it.

    Attributes:
        batch: The batch; None while it is not in the ledger yet.
        records: What it brought, in the order of the log.
        report: The package's row of gold.remaining_stops at the first version that shows the batch; None when the
            package was not in it, or when that is not known.
        gap: Why it is not known; None when it is.
    """

    batch: Batch | None
    records: tuple[AcceptedRecord, ...]
    report: Row | None
    gap: str | None

    @property
    def version(self) -> int | None:
        """The first version of gold.remaining_stops that shows the batch; None while none does."""
        return self.batch.versions.get(REPORTS) if self.batch else None

    @property
    def why_no_report(self) -> str:
        return self.gap or f"not in {REPORTS}"

    def effect(self, record: AcceptedRecord) -> str | None:
        """What a record of the batch did to the report; None when that is not known.

        It `made the report`, as its scan or its route; was `overtaken` by another record of the batch that did; or
        `changed nothing`.
        """
        if self.gap:
            return None
        sources = sources_of(self.report).values() if self.report else ()
        if record.coordinates in sources:
            return MADE
        overtaken = any(other.topic == record.topic and other.coordinates in sources for other in self.records)
        return "overtaken" if overtaken else "changed nothing"

    def as_json(self) -> dict[str, Any]:
        records = [
            {"kind": each.kind, "coordinates": each.coordinates, "stop_id": each.stop_id, "effect": self.effect(each)}
            for each in self.records
        ]
        return {
            **_batch_json(self.batch),
            "version": self.version,
            "arrivals": records,
            "report": self.report and {name: self.report[name] for name in SAID} | sources_of(self.report),
            "gap": self.gap,
        }


@dataclass(frozen=True)
class Explanation:
    """One package and how its report came about.

    Attributes:
        package: What the lake knows of it now.
        sources: The scan and the route record that made the report, by their coordinates: the batch of each; None
            while that is not in the ledger yet.
        history: The newest of the batches that brought something of the package, oldest first.
        older_count: How many older ones are left out.
        repeats: Records that tell one of its scans again, and were dropped.
    """

    package: PackageReport
    sources: Mapping[str, Batch | None]
    history: tuple[Entry, ...]
    older_count: int
    repeats: tuple[Repeat, ...]

    def as_json(self) -> dict[str, Any]:
        """JSON-ready: what `pts report` gives, and `sources`, `history`, `older_count`, `repeats`."""
        sources = [
            {"coordinates": source, **_batch_json(batch), "versions": first_shown(source, batch)}
            for source, batch in self.sources.items()
        ]
        history = [entry.as_json() for entry in self.history]
        told = {"sources": sources, "history": history, "older_count": self.older_count}
        return self.package.as_json() | told | {"repeats": [repeat.as_json() for repeat in self.repeats]}


def explanation(tracking_number: int, settings: Settings, limit: int = HISTORY_LIMIT) -> Explanation:
    """Reads one package, its way through the ledger, and its report after each of its newest batches, up to `limit`.

    Raises `NotFound` for a package that no topic has named, and for a lake without a ledger.
    """
    package = package_report(tracking_number, settings)
    reader = LakeReader(settings.lake_root)
    records = accepted_records_of(reader, tracking_number)
    batch_of = {record.coordinates: record.batch_id for record in records}
    numbers = sorted({number for number in batch_of.values() if number is not None})
    newest = numbers[-limit:]
    sources = {source: batch_of.get(source) for source in _sources(package)}
    batches = batches_of(reader, {number for number in (*newest, *sources.values()) if number is not None})
    since = recreated_tables(settings.lake_root, after=newest[0]).get(REPORTS, 0) if newest else 0
    history = []
    with part("Reading what was told after each batch"):
        for number in (*newest, None):
            brought = tuple(record for record in records if record.batch_id == number)
            if brought:
                batch = None if number is None else batches[number]
                report, gap = _report_after(batch, since, tracking_number, settings.lake_root)
                history.append(Entry(batch, brought, report, gap))
    with closing(Clearance.of(settings)) as clearance:
        repeats = repeats_of(reader, tracking_number, package.scans, settings.kafka.ship_events_format, clearance)
    return Explanation(
        package=package,
        sources={source: None if number is None else batches[number] for source, number in sources.items()},
        history=tuple(history),
        older_count=len(numbers) - len(newest),
        repeats=repeats,
    )


def _sources(package: PackageReport) -> list[str]:
    return [source for source in sources_of(package.report).values() if source] if package.report else []


def _report_after(
    batch: Batch | None, since: int, tracking_number: int, lake_root: str
) -> tuple[Row | None, str | None]:
    """The package's report at the version that shows the batch first, or why it is not known.

    Args:
        batch: The batch.
        since: The batch that found gold.remaining_stops recreated: earlier versions were another table's.
        tracking_number: The package.
        lake_root: The lake.
    """
    if batch is None:
        return None, PENDING
    if batch.reported_in is None:
        return None, f"{REPORTS} does not show it yet"
    version = batch.versions[REPORTS]
    gone = f"version {version} can no longer be read"
    if batch.reported_in < since:
        return None, gone
    try:
        reader = LakeReader(lake_root, {REPORTS: version})
        rows = rows_of(reader.query(f"SELECT * FROM {REPORTS} WHERE tracking_number = ?", [tracking_number]))
    except NotFound:
        return None, gone
    return next(iter(rows), None), None


def _batch_json(batch: Batch | None) -> dict[str, Any]:
    return {"batch_id": batch and batch.batch_id, "committed_at": batch and iso_utc(batch.committed_at)}


def first_shown(source: str, batch: Batch | None) -> dict[str, int]:
    """The first versions of the record's silver table and of gold.remaining_stops that show it, if any do yet."""
    silver = SILVER_SHIP_EVENTS if source.startswith(f"{SHIP_EVENTS.name}/") else SILVER_SHIP_ROUTES
    versions = batch.versions if batch else {}
    return {name: versions[name] for name in (silver.name, REPORTS) if name in versions}
