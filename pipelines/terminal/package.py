"""One package: its report, its routes and scans, and how the report came about."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from pipelines.errors import printable
from pipelines.queries.explain import MADE, PENDING, SAID, Entry, first_shown
from pipelines.queries.headline import headline, place_of
from pipelines.queries.report import coordinates, sources_of
from pipelines.terminal.page import Page, section
from pipelines.values import cell_text, iso_utc, status_text

if TYPE_CHECKING:
    from pipelines.live.erase import Erased
    from pipelines.queries.accepted_records import Batch
    from pipelines.queries.explain import Explanation
    from pipelines.queries.report import PackageReport

Row = Mapping[str, Any]


def package_page(package: "PackageReport") -> Page:
    """Headline, routes, scans. What the records say cannot steer the terminal."""
    yield Text(headline(package), style="bold")
    yield ""
    yield _routes(package)
    yield ""
    yield _scans(package)


def explanation_page(explained: "Explanation") -> Page:
    """The package's page, then what made its report, and the report's history."""
    yield from package_page(explained.package)
    yield ""
    yield _sources(explained)
    yield ""
    headers = ("Batch", "Committed (UTC)", "Version", "Arrived", "Remaining", "Status", "Scan", "Route")
    yield section("History of the report, oldest first", headers, map(_entry, explained.history))
    if explained.older_count:
        yield f"Left out: {explained.older_count} older {'batch' if explained.older_count == 1 else 'batches'}."
    if explained.repeats:
        yield ""
        yield _repeats(explained)


def erased_page(erased: "Erased") -> Iterator[str]:
    """What an erasure did."""
    done = "Its key is destroyed" if erased.had_key else "It had no key, or none any more"
    yield f"Package {erased.tracking_number}: {done}, it never gets another one, and its report is withdrawn."


def _routes(package: "PackageReport") -> Table:
    cells = ((iso_utc(row["kafka_timestamp"]), *_route(row), coordinates(row)) for row in package.routes)
    return section("Routes, the last in force", ("From", "Route", "Last stop", "Kafka record"), cells)


def _scans(package: "PackageReport") -> Table:
    cells = (
        (
            iso_utc(row["occurred_at"]),
            printable(row["event_code"]),
            status_text(row["status_code"]),
            place_of(row),
            str(row["current_stop_id"]),
            coordinates(row),
        )
        for row in package.scans
    )
    return section("Scans", ("Time", "Event", "Status", "Place", "Stop", "Kafka record"), cells)


def _sources(explained: "Explanation") -> Table:
    cells = (
        (
            source,
            *((str(batch.batch_id), _second(batch)) if batch else (PENDING, "")),
            ", ".join(f"{name} {version}" for name, version in first_shown(source, batch).items()),
        )
        for source, batch in explained.sources.items()
    )
    headers = ("Kafka record", "Batch", "Committed (UTC)", "First shown by version")
    return section("What made the report", headers, cells)


def _repeats(explained: "Explanation") -> Table:
    cells = (
        (repeat.coordinates, repeat.repeats or "", "\n".join(_differences(repeat.differs)) or "nothing")
        for repeat in explained.repeats
    )
    return section("Repeats, dropped", ("Kafka record", "Scan that counts", "What it says otherwise"), cells)


def _entry(entry: Entry) -> tuple[str, ...]:
    batch, version = entry.batch, entry.version
    when = (str(batch.batch_id), _second(batch)) if batch else ("", "")
    return (*when, "" if version is None else str(version), _accepted(entry), *_said(entry))


def _accepted(entry: Entry) -> str:
    """One line for each record, with its effect unless it made the report; then why there is no report, if so."""
    lines = []
    for record in entry.records:
        effect = entry.effect(record)
        lines.append(f"{record.kind} {record.place}" + ("" if effect in (None, MADE) else f", {effect}"))
    if entry.report is None:
        lines.append(f"({entry.why_no_report})")
    return "\n".join(lines)


def _said(entry: Entry) -> tuple[str, str, str, str]:
    """Remaining stops, status, and the places on the log of the scan and of the route behind them."""
    report = entry.report
    if report is None:
        return "", "", "", ""
    remaining, current, end = ("?" if report[name] is None else str(report[name]) for name in SAID[:3])
    status = "" if report["event_kafka_offset"] is None else status_text(report["status_code"])
    scan, route = ((source or "").partition("/")[2] for source in sources_of(report).values())
    return f"{remaining} ({current} of {end})", status, scan, route


def _differences(differs: Mapping[str, tuple[Any, Any]]) -> Iterator[str]:
    for name, (counts, told) in differs.items():
        yield printable(f"{name}: {cell_text(told) or 'nothing'}, not {cell_text(counts) or 'nothing'}")


def _route(row: Row) -> tuple[str, str]:
    return ("withdrawn", "") if row["is_withdrawn"] else (str(row["route_id"]), str(row["end_stop_id"]))


def _second(batch: "Batch") -> str:
    return f"{batch.committed_at:%Y-%m-%d %H:%M:%S}"
