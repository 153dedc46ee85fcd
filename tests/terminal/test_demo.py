"""What `pts demo` shows of a package."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from pipelines.stack.demo_view import DemoView
from pipelines.terminal.demo import DemoScreen, demo_lines, demo_picture


def package(number: int, remaining: int | None, city: str | None = None) -> dict[str, Any]:
    seen = datetime(2026, 1, 1, 10, 5, tzinfo=UTC)
    return {
        "tracking_number": number,
        "number_of_remaining_stops": remaining,
        "status_code": "IT",
        "city": city,
        "occurred_at": seen,
    }


def test_remaining_stops_of_a_package_fall_as_scans_arrive() -> None:
    view = DemoView()
    for remaining in (5, 5, 3, 0):
        view.take_packages([package(42, remaining)])

    assert "  package 42: 5 → 3 → 0 stops remain" in demo_lines(view)


def test_course_that_is_too_long_shows_its_end() -> None:
    view = DemoView()
    for remaining in range(12, 0, -1):
        view.take_packages([package(42, remaining)])

    assert demo_lines(view)[-1] == "  package 42: … → 10 → 9 → 8 → 7 → 6 → 5 → 4 → 3 → 2 → 1 stops remain"


def test_picture_shows_progress_totals_quarantine_and_packages_together() -> None:
    view = DemoView(totals={"seen": 2000}, quarantined={"malformed": 1200}, remark="The feed is through.")
    view.take_line('{"batch_id": 7, "lag_records": 10}')
    view.take_line("WARN something else")
    view.take_packages([package(42, None)])

    shown = drawn(view)

    parts = ("batch     7", "seen 2,000", "malformed 1,200", "42", "in transit", "2026-01-01 10:05:00", "is through")
    assert [part for part in parts if part not in shown] == []


def test_text_of_a_record_cannot_steer_the_terminal() -> None:
    view = DemoView()
    view.take_packages([package(42, 3, city="\x1b[2JK\u00f6ln")])

    assert "\N{REPLACEMENT CHARACTER}[2JK\u00f6ln" in drawn(view)


def drawn(view: DemoView) -> str:
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(demo_picture(view))
    return console.export_text()


def test_page_of_a_package_that_is_shown_is_named_to_try() -> None:
    view = DemoView(api="http://127.0.0.1:8000", board="http://127.0.0.1:8010")
    assert "Board       http://127.0.0.1:8010" in drawn(view)
    assert "board: http://127.0.0.1:8010" in demo_lines(view)
    assert "track: http://127.0.0.1:8000" in demo_lines(view)
    view.take_packages([package(42, 5), package(43, 5)])
    assert "track: http://127.0.0.1:8000/track/42" in demo_lines(view)
    assert "Track       http://127.0.0.1:8000/track/42" in drawn(view)


def test_airflow_is_named_where_it_runs() -> None:
    view = DemoView(airflow="http://127.0.0.1:8080, as admin")
    out = io.StringIO()
    Console(file=out, width=120).print(demo_picture(view))

    assert "Airflow     http://127.0.0.1:8080, as admin" in out.getvalue()
    assert "airflow: http://127.0.0.1:8080, as admin" in demo_lines(view)
    assert not any("airflow" in line for line in demo_lines(DemoView()))


@pytest.mark.parametrize("is_terminal", [False, True])
def test_one_line_says_where_all_pages_are(is_terminal: bool) -> None:
    view = DemoView(
        api="http://127.0.0.1:8000", board="http://127.0.0.1:8010", airflow="http://127.0.0.1:8080, as admin"
    )
    out = io.StringIO()
    DemoScreen(Console(file=out, width=40, force_terminal=is_terminal, color_system=None)).say_places(view)
    assert out.getvalue() == (
        "All pages are there: board http://127.0.0.1:8010, API http://127.0.0.1:8000, "
        "Airflow http://127.0.0.1:8080, as admin.\n"
    )


def test_elsewhere_than_on_a_terminal_lines_come_when_the_tables_were_asked() -> None:
    out = io.StringIO()
    with DemoScreen(Console(file=out, width=120)).drawing() as draw:
        draw(DemoView(board="http://127.0.0.1:8010"), False)
        assert out.getvalue() == ""
        draw(DemoView(board="http://127.0.0.1:8010"), True)
    assert "board: http://127.0.0.1:8010\n" in out.getvalue()
