"""The page *package*: its journey on a line of stops, and why its report is what it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.board.view import View
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.keys.clearance import MASKED
from pipelines.queries.accepted_records import AcceptedRecord, Batch, accepted_records_of, batches_of
from pipelines.queries.repeats import Repeat, repeats_of
from pipelines.queries.report import PackageReport, Row, coordinates, package_in, sources_of
from pipelines.tables import (
    BRONZE_SHIP_EVENTS,
    GOLD_REMAINING_STOPS,
    OPS_EXPIRED_REPORTS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
)

READ = tuple(
    table.name
    for table in (
        GOLD_REMAINING_STOPS, SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES, OPS_EXPIRED_REPORTS,
    )
)  # fmt: skip
READ_FOR_REPEATS = (*READ, SILVER_QUARANTINE.name, BRONZE_SHIP_EVENTS.name)
MOST_SCANS = 300


@dataclass(frozen=True)
class Scan:
    """A scan on the line.

    Attributes:
        row: Its row of silver.ship_events.
        coordinates: Its place on the log.
        is_late: Whether one that happened later had reached the log before it.
        repeat_count: Records that told it again; 0 where nobody looked for them.
        is_decisive: Whether the report takes its scan's values from it.
    """

    row: Row
    coordinates: str
    is_late: bool
    repeat_count: int
    is_decisive: bool


@dataclass(frozen=True)
class Stop:
    """A stop on the line, with its scans in the order in which they happened.

    Attributes:
        number: Its number along the route.
        skipped_count: Stops between the one before and this one, at which nothing was scanned.
        state: `passed`, `here`, `ahead`, or `beyond` the end of the route.
        is_end: Whether the route ends here.
    """

    number: int
    scans: tuple[Scan, ...]
    skipped_count: int
    state: str
    is_end: bool


@dataclass(frozen=True)
class Package:
    """What the page shows; of a package with very many scans, the newest on the line.

    `repeats` is None where nobody looked for them.
    """

    package: PackageReport
    stops: tuple[Stop, ...]
    sources: Mapping[str, tuple[str, Batch | None]]
    records: tuple[AcceptedRecord, ...]
    repeats: tuple[Repeat, ...] | None
    left_out_count: int


def package_page(view: View, number: int, wire_format: str | None) -> Package:
    """One package, a mask in place of what is sealed. Raises `NotFound` for one that no topic has named.

    With the format in which values of ship-events are written, also the repeats of its scans: no file of bronze tells
    whose records it has, so that all keys are read for them.
    """
    package = package_in(view.reader, number, MASKED)
    records = accepted_records_of(view.reader, number)
    repeats = repeats_of(view.reader, number, package.scans, wire_format, MASKED) if wire_format else None
    batch_of = {record.coordinates: record.batch_id for record in records}
    made_of = sources_of(package.report) if package.report else {}
    named = {kind.partition("_")[0]: place for kind, place in made_of.items() if place}
    numbers = {place: batch_id for place in named.values() if (batch_id := batch_of.get(place)) is not None}
    batches = batches_of(view.reader, set(numbers.values()))
    shown = package.scans[-MOST_SCANS:]
    return Package(
        package=package,
        stops=tuple(_stops(_scans(shown, repeats or (), named.get("event")), package.report or {})),
        sources={kind: (place, batches[numbers[place]] if place in numbers else None) for kind, place in named.items()},
        records=tuple(records[-MOST_SCANS:]),
        repeats=repeats and repeats[-MOST_SCANS:],
        left_out_count=len(package.scans) - len(shown),
    )


def _scans(rows: tuple[Row, ...], repeats: tuple[Repeat, ...], decisive: str | None) -> list[Scan]:
    """The scans in the order in which they happened."""
    late, latest = set(), None
    for row in sorted(rows, key=lambda row: (row["kafka_timestamp"], row["kafka_partition"], row["kafka_offset"])):
        if latest is not None and row["occurred_at"] < latest:
            late.add(coordinates(row))
        latest = row["occurred_at"] if latest is None else max(latest, row["occurred_at"])
    told = [repeat.repeats for repeat in repeats]
    places = [(row, coordinates(row)) for row in rows]
    return [Scan(row, place, place in late, told.count(place), place == decisive) for row, place in places]


def _stops(scans: list[Scan], report: Mapping[str, Any]) -> list[Stop]:
    """The stops at which something was scanned, the first, the current one and the end of the route."""
    current, end = report.get("current_stop_id"), report.get("end_stop_id")
    by_stop: dict[int, list[Scan]] = {}
    for scan in scans:
        by_stop.setdefault(scan.row["current_stop_id"], []).append(scan)
    ends = {number for number in (current, end) if number is not None}
    numbers = sorted(by_stop.keys() | ends | ({0} if ends else set()))
    made, before = [], None
    for number in numbers:
        state = "ahead" if current is None or number > current else "here" if number == current else "passed"
        if end is not None and number > end:
            state = "beyond"
        skipped = 0 if before is None else number - before - 1
        made.append(Stop(number, tuple(by_stop.get(number, ())), skipped, state, number == end))
        before = number
    return made


def effect(record: AcceptedRecord, sources: Mapping[str, tuple[str, Batch | None]]) -> str:
    """What a record has to do with the report as it is."""
    if record.coordinates in {place for place, _ in sources.values()}:
        return "made the report"
    return "an earlier scan" if record.topic == SHIP_EVENTS.name else "an earlier route"
