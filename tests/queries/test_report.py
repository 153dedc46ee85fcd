"""One package as a page and as JSON, from tables written by delta-rs."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from rich.console import Console

from pipelines.errors import InvalidInput, NotFound
from pipelines.queries.headline import headline
from pipelines.queries.report import PackageReport, package_report
from pipelines.settings import Settings
from pipelines.terminal.package import package_page
from pipelines.terminal.page import show
from tests.queries.package_rows import REPORTS, ROUTES, SCANS, report, route, scan


def lake(
    folder: Path, scans: list[dict[str, Any]], routes: list[dict[str, Any]], reports: list[dict[str, Any]] | None = None
) -> Settings:
    """A lake with the package's rows, the last of each being the newest; its report follows from them unless given."""
    if reports is None:
        reports = [report(scans[-1] if scans else None, routes[-1] if routes else None)]
    tables = {"silver/ship_events": (scans, SCANS), "silver/ship_routes": (routes, ROUTES)}
    for path, (rows, schema) in (tables | {"gold/remaining_stops": (reports, REPORTS)}).items():
        write_deltalake(folder / "lake" / path, pa.Table.from_pylist(rows[::-1], schema=pa.schema(schema)))
    return Settings(home=folder)


def page(found: PackageReport) -> str:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    show(package_page(found), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_headline_says_how_many_stops_remain_and_where_the_package_was_seen_last(tmp_path: Path) -> None:
    settings = lake(tmp_path, [scan(7)], [route(10)])
    assert headline(package_report(42, settings)) == (
        "Package 42: 3 stops remain (stop 7 of 10), in transit, last seen Lyon FR at 2024-05-01T12:00:00.000005Z"
    )


@pytest.mark.parametrize(
    ("scans", "routes", "expected"),
    [
        ([scan(9)], [route(10)], "1 stop remains (stop 9 of 10), in transit, last seen Lyon"),
        ([scan(10)], [route(10)], "0 stops remain (stop 10 of 10), in transit"),
        ([scan(12)], [route(10)], "2 stops beyond the end of its route (stop 12 of 10), in transit"),
        ([scan(7)], [], "remaining stops unknown because it has no route yet, in transit, last seen Lyon"),
        (
            [scan(7)],
            [route(10), route(None, minute=1)],
            "remaining stops unknown because its route was withdrawn, in transit",
        ),
        ([], [route(10)], "remaining stops unknown because it has no scan yet"),
        ([], [route(None)], "remaining stops unknown because its route was withdrawn and it has no scan yet"),
        (
            [scan(7, status_code=None, city=None, country=None)],
            [route(10)],
            "status unknown, last seen at 2024-05-01T12",
        ),
        ([scan(7, status_code="ZZ")], [route(10)], "status ZZ, last seen Lyon"),
    ],
)
def test_headline_says_why_a_number_is_unknown(tmp_path: Path, scans: Any, routes: Any, expected: str) -> None:
    assert expected in headline(package_report(42, lake(tmp_path, scans, routes)))


def test_json_holds_every_record_with_its_kafka_coordinates(tmp_path: Path) -> None:
    settings = lake(tmp_path, [scan(6, offset=3), scan(7, minute=5)], [route(8), route(10, minute=1, offset=9)])
    found = json.loads(json.dumps(package_report(42, settings).as_json()))
    assert found["tracking_number"] == 42
    assert found["report"]["number_of_remaining_stops"] == 3
    assert found["report"]["occurred_at"] == "2024-05-01T12:05:00.000005Z"
    assert found["report"]["event_coordinates"] == "ship-events/2@1234"
    assert found["report"]["route_coordinates"] == "ship-routes/2@9"
    assert found["route_in_force"] == found["routes"][-1]
    assert [row["coordinates"] for row in found["routes"]] == ["ship-routes/2@7", "ship-routes/2@9"]
    assert [row["coordinates"] for row in found["scans"]] == ["ship-events/2@3", "ship-events/2@1234"]


def test_json_of_a_package_without_scan_and_route_has_nulls(tmp_path: Path) -> None:
    found = package_report(42, lake(tmp_path, [], [route(None)])).as_json()
    assert found["route_in_force"] is None
    assert found["report"]["event_coordinates"] is None
    assert found["scans"] == []


def test_scans_at_one_time_stand_in_the_order_of_the_log(tmp_path: Path) -> None:
    settings = lake(tmp_path, [scan(5, offset=1), scan(6, offset=2), scan(4, minute=-1, offset=3)], [route(10)])
    assert [row["kafka_offset"] for row in package_report(42, settings).scans] == [3, 1, 2]


def test_route_of_a_later_record_is_in_force_whatever_its_offset(tmp_path: Path) -> None:
    settings = lake(tmp_path, [], [route(8, minute=1, offset=9), route(10, minute=2, offset=3)])
    in_force = package_report(42, settings).route_in_force
    assert in_force is not None
    assert in_force["end_stop_id"] == 10


def test_page_shows_headline_routes_and_scans(tmp_path: Path) -> None:
    settings = lake(tmp_path, [scan(7)], [route(10), route(None, minute=1, offset=8)])
    text = page(package_report(42, settings))
    assert "Package 42: remaining stops unknown because its route was withdrawn" in text
    assert "ship-routes/2@7" in text
    assert "withdrawn" in text
    assert "ship-events/2@1234" in text


def test_text_of_a_record_is_neither_markup_nor_a_command_to_the_terminal(tmp_path: Path) -> None:
    settings = lake(tmp_path, [scan(7, city="\x1b[2JLyon", event_code="[red]A[/red]")], [route(10)])
    text = page(package_report(42, settings))
    assert "\x1b" not in text
    assert "[red]A[/red]" in text


def test_scan_that_gold_has_not_folded_yet_is_shown(tmp_path: Path) -> None:
    found = package_report(42, lake(tmp_path, [scan(7)], [], reports=[]))
    assert headline(found) == "Package 42: its report follows with the next batch"
    assert found.as_json()["report"] is None
    assert len(found.scans) == 1


def apply_expiry(settings: Settings, *reports: dict[str, Any]) -> None:
    """Writes ops.expired_reports."""
    rows = pa.Table.from_pylist(list(reports), schema=pa.schema(REPORTS))
    write_deltalake(Path(settings.lake_root) / "ops" / "expired_reports", rows)


def test_package_that_was_delivered_and_removed_is_shown_as_it_was_then(tmp_path: Path) -> None:
    delivered, last_route = scan(10, status_code="DL"), route(10)
    settings = lake(tmp_path, [delivered], [last_route], reports=[])
    apply_expiry(settings, report(delivered, last_route))
    found = package_report(42, settings)
    assert headline(found) == (
        "Package 42: 0 stops remain (stop 10 of 10), delivered and expired, last seen Lyon FR at "
        "2024-05-01T12:00:00.000005Z"
    )
    assert found.as_json()["is_expired"] is True
    assert found.as_json()["report"]["event_coordinates"] == "ship-events/2@1234"


def test_package_that_came_back_after_it_was_removed_has_its_report_of_today(tmp_path: Path) -> None:
    delivered, back = scan(10, status_code="DL"), scan(9, minute=5, offset=1235, status_code="RT")
    settings = lake(tmp_path, [delivered, back], [route(10)])
    apply_expiry(settings, report(delivered, route(10)))
    found = package_report(42, settings)
    assert found.is_expired is False
    assert "1 stop remains (stop 9 of 10), returning" in headline(found)


def test_unknown_package_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="Package 43 is in neither ship-events nor ship-routes"):
        package_report(43, lake(tmp_path, [scan(7)], [route(10)]))


@pytest.mark.parametrize("number", [0, -1, 2**63])
def test_number_that_no_package_can_have_is_refused(tmp_path: Path, number: int) -> None:
    with pytest.raises(InvalidInput, match="A tracking number is between 1 and"):
        package_report(number, Settings(home=tmp_path))
