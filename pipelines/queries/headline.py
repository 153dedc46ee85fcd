"""What there is to say of a package in one line, wherever it is shown."""

from collections.abc import Mapping
from typing import Any

from pipelines.errors import printable
from pipelines.queries.report import PackageReport
from pipelines.values import iso_utc, status_text

Row = Mapping[str, Any]


def headline(found: PackageReport) -> str:
    """How many stops remain, or why that is not known; then the latest scan."""
    scan = found.report or {}
    parts = [f"Package {found.tracking_number}: {_remaining(found.report)}"]
    if scan.get("event_kafka_offset") is not None:
        place = f" {place_of(scan)}" if place_of(scan) else ""
        status = "delivered and expired" if found.is_expired else status_text(scan["status_code"])
        parts += [status, f"last seen{place} at {iso_utc(scan['occurred_at'])}"]
    return ", ".join(parts)


def _remaining(report: Row | None) -> str:
    if report is None:
        return "its report follows with the next batch"
    current, end, count = (report[name] for name in ("current_stop_id", "end_stop_id", "number_of_remaining_stops"))
    if count is not None and count < 0:
        return f"{_stops(-count)} beyond the end of its route (stop {current} of {end})"
    if count is not None:
        return f"{_stops(count)} {'remains' if count == 1 else 'remain'} (stop {current} of {end})"
    reasons = []
    if end is None:
        has_route = report["route_kafka_offset"] is not None
        reasons.append("its route was withdrawn" if has_route else "it has no route yet")
    if current is None:
        reasons.append("it has no scan yet")
    return f"remaining stops unknown because {' and '.join(reasons)}"


def place_of(row: Row) -> str:
    return " ".join(printable(row[name]) for name in ("city", "state", "country") if row[name])


def _stops(count: int) -> str:
    return "1 stop" if count == 1 else f"{count} stops"
