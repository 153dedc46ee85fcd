"""What `pts demo` shows of a package."""

import io
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from pipelines.demo_view import DemoView


def package(number: int, remaining: int | None) -> dict[str, Any]:
    seen = datetime(2026, 1, 1, 10, 5, tzinfo=UTC)
    return {
        "tracking_number": number,
        "number_of_remaining_stops": remaining,
        "status_code": "IT",
        "city": None,
        "occurred_at": seen,
    }


def test_remaining_stops_of_a_package_fall_as_scans_arrive() -> None:
    view = DemoView()
    for remaining in (5, 5, 3, 0):
        view.take_packages([package(42, remaining)])

    assert "  package 42: 5 → 3 → 0 stops remain" in view.lines()


def test_picture_shows_progress_quarantine_and_packages_together() -> None:
    view = DemoView(quarantined={"malformed": 1200})
    view.take_line('{"batch_id": 7, "lag_records": 10}')
    view.take_line("WARN something else")
    view.take_packages([package(42, None)])
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(view.render())

    drawn = console.export_text()
    assert all(part in drawn for part in ("batch     7", "malformed 1,200", "42", "2026-01-01 10:05:00"))
