"""Which stops lead a window. Each case has hours of its own; all boards are made in one run."""

from collections.abc import Iterable
from typing import Any

import pytest

from pipelines.tables import GOLD_STOP_ACTIVITY
from pipelines.transforms.busiest_stops import BUSIEST_STOPS
from tests.oracle.makers import at, scan
from tests.rows import answer, arrow, plain, scans

STOP = ("country", "state", "city", "postal_code")
TEN_MINUTES = 600 * 1_000_000
Stop = tuple[str | None, str | None, str | None, str | None]
Boards = dict[int, list[dict[str, Any]]]

EQUALS: list[Stop] = [
    (None, "z", "z", "z"),
    ("a", None, "z", "z"),
    ("a", "a", None, "z"),
    ("a", "a", "a", None),
    ("a", "a", "a", "a"),
    ("a", "a", "a", "b"),
    ("a", "a", "a", "c"),
    ("a", "a", "b", "a"),
    ("a", "b", "a", "a"),
    ("b", "a", "a", "a"),
]
"""As many scans each, in the order of their places: every column decides somewhere, against those after it."""

SPELLINGS = ["10", "9", "Z", "Zz", "a", "é", "\ufffd", "\U0001f600"]
"""In the order of code points, which is neither a dictionary's nor that of UTF-16."""


def city(name: str) -> Stop:
    return ("US", None, name, None)


def activity(clock: str, counts: Iterable[tuple[Stop, int]]) -> list[dict[str, Any]]:
    """Rows of gold.stop_activity for the window that starts then."""
    return [
        {"window_start": at(clock), "window_end": at(clock) + TEN_MINUTES, "scan_count": count}
        | {"delivered_count": 0, "failed_count": 0}
        | dict(zip(STOP, stop, strict=True))
        for stop, count in counts
    ]


TWELVE = [(city(name), 5) for name in "lkjihgfedcba"]
ACTIVITY = [
    *activity("01:00", [(city("few"), 2), (city("most"), 9), (city("some"), 4), (city("least"), 1)]),
    *activity("02:00", [(stop, 3) for stop in reversed(EQUALS)]),
    *activity("03:00", [(city(name), 3) for name in reversed(SPELLINGS)]),
    *activity("04:00", TWELVE),
    *activity("05:00", [*TWELVE, (city("z"), 6)]),
    *activity("06:00", [(city("touched"), 1), (city("elsewhere"), 7)]),
    *activity("06:05", [(city("touched"), 1)]),
    *activity("06:10", [(city("later"), 1)]),
    *activity("05:50", [(city("earlier"), 1)]),
    *activity("06:55", [(city("edge"), 1)]),
    *activity("07:00", [(city("edge"), 1)]),
    *activity("07:05", [(city("edge"), 1)]),
]
TOUCHES = [scan(clock=clock, offset=0) for clock in ("01:00", "02:01", "03:02", "04:03", "05:04", "06:05", "07:00")]


@pytest.fixture(scope="module")
def boards() -> Boards:
    """By start of the window, its rows by rank."""
    shown = answer(BUSIEST_STOPS, scans=scans(TOUCHES * 2), activity=arrow(GOLD_STOP_ACTIVITY, ACTIVITY))
    found = plain(shown.sort_by("rank"))
    return {
        start: [row for row in found if row["window_start"] == start] for start in {r["window_start"] for r in found}
    }


def cities(boards: Boards, clock: str) -> list[str]:
    return [row["city"] for row in boards[at(clock)]]


def test_stop_with_more_scans_comes_before_one_with_fewer(boards: Boards) -> None:
    places = [(row["rank"], row["city"], row["scan_count"]) for row in boards[at("01:00")]]
    assert places == [(1, "most", 9), (2, "some", 4), (3, "few", 2), (4, "least", 1)]


def test_equals_are_ordered_by_country_state_city_and_postal_code_nulls_first(boards: Boards) -> None:
    assert [tuple(row[name] for name in STOP) for row in boards[at("02:00")]] == EQUALS


def test_names_are_ordered_by_code_point(boards: Boards) -> None:
    assert sorted(SPELLINGS) == SPELLINGS
    assert cities(boards, "03:00") == SPELLINGS


def test_board_has_ten_places_and_equals_do_not_share_one(boards: Boards) -> None:
    assert [row["rank"] for row in boards[at("04:00")]] == list(range(1, 11))
    assert cities(boards, "04:00") == list("abcdefghij")


def test_busier_stop_drives_the_tenth_off_the_board(boards: Boards) -> None:
    assert cities(boards, "05:00") == list("zabcdefghi")


def test_stop_without_a_new_scan_is_on_the_board_of_a_touched_window(boards: Boards) -> None:
    assert cities(boards, "06:00") == ["elsewhere", "touched"]


def test_window_without_a_new_scan_has_no_rows(boards: Boards) -> None:
    starts = ["01:00", "02:00", "03:00", "04:00", "05:00", "06:00", "06:05", "06:55", "07:00"]
    assert sorted(boards) == [at(clock) for clock in starts]


def test_row_has_the_end_of_its_window(boards: Boards) -> None:
    assert {row["window_end"] - start for start, rows in boards.items() for row in rows} == {TEN_MINUTES}
