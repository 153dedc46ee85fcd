"""How busy a stop is. Each case has a city of its own; all are counted in one run."""

import random
from collections import Counter
from typing import Any

import pytest

from pipelines.transforms.stop_activity import STOP_ACTIVITY
from tests.oracle.makers import at, scan
from tests.oracle.records import LogRecord
from tests.rows import answer, plain, scans

EVE = "1969-12-31"
STOP = ("country", "state", "city", "postal_code")
Rows = list[dict[str, Any]]


def visit(city: str, clock: str, status: str = "IT", day: str = "2026-03-01") -> LogRecord:
    return scan(clock=clock, status=status, place=f"US,,{city},", day=day, offset=0)


def visits(count: int) -> list[LogRecord]:
    dice = random.Random(11)
    return [
        visit(dice.choice("xyz"), f"12:{dice.randrange(60):02}", dice.choice(["IT", "DL", "DF", ""]))
        for _ in range(count)
    ]


SCANS = [
    visit("start", "10:05"),
    visit("just before", "10:04:59.999999"),
    visit("eve", "23:59:59.999999", day=EVE),
    visit("epoch", "00:00", day="1970-01-01"),
    *(visit("statuses", "10:02", status) for status in ("IT", "DL", "DL", "DL", "DF", "DF", "EX", "dl", "")),
    *(visit("one window", clock) for clock in ("10:00", "10:04:59.999999", "10:05", "10:09:59.999999", "10:10")),
    *(scan(clock="15:01", place=place, offset=0) for place in (",,,", ",,,", "US,,,", ",NY,,", ",,New York,", ",,,0")),
    *(scan(clock="16:01", place=place, offset=0) for place in ("US,a,b,1", "DE,a,b,1", "US,c,b,1", "US,a,b,2")),
    *visits(80),
]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return plain(answer(STOP_ACTIVITY, scans=scans(SCANS)))


def windows(rows: Rows, city: str) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Scans, deliveries and failed deliveries in a city by window."""
    return {
        (row["window_start"], row["window_end"]): (row["scan_count"], row["delivered_count"], row["failed_count"])
        for row in rows
        if row["city"] == city
    }


def stops(rows: Rows, window_start: int) -> dict[tuple[str | None, ...], int]:
    """Scans by stop in the windows that start then."""
    return {tuple(row[name] for name in STOP): row["scan_count"] for row in rows if row["window_start"] == window_start}


def test_scan_is_in_the_two_windows_that_contain_it(rows: Rows) -> None:
    assert windows(rows, "just before") == {
        (at("09:55"), at("10:05")): (1, 0, 0),
        (at("10:00"), at("10:10")): (1, 0, 0),
    }


def test_scan_at_the_very_start_of_a_window_is_in_it_and_not_in_the_one_that_ends_there(rows: Rows) -> None:
    assert windows(rows, "start") == {(at("10:00"), at("10:10")): (1, 0, 0), (at("10:05"), at("10:15")): (1, 0, 0)}


def test_window_counts_from_its_first_microsecond_to_its_last(rows: Rows) -> None:
    assert windows(rows, "one window") == {
        (at("09:55"), at("10:05")): (2, 0, 0),
        (at("10:00"), at("10:10")): (4, 0, 0),
        (at("10:05"), at("10:15")): (3, 0, 0),
        (at("10:10"), at("10:20")): (1, 0, 0),
    }


def test_scan_before_the_epoch_is_in_the_windows_that_contain_it(rows: Rows) -> None:
    minute = 60_000_000
    assert windows(rows, "eve") == {(-10 * minute, 0): (1, 0, 0), (-5 * minute, 5 * minute): (1, 0, 0)}
    assert windows(rows, "epoch") == {(-5 * minute, 5 * minute): (1, 0, 0), (0, 10 * minute): (1, 0, 0)}


def test_deliveries_are_dl_and_failures_are_df_and_no_other_status_is_either(rows: Rows) -> None:
    assert set(windows(rows, "statuses").values()) == {(9, 3, 2)}


def test_null_in_the_columns_of_a_stop_is_a_value(rows: Rows) -> None:
    assert stops(rows, at("15:00")) == {
        (None, None, None, None): 2,
        ("US", None, None, None): 1,
        (None, "NY", None, None): 1,
        (None, None, "New York", None): 1,
        (None, None, None, "0"): 1,
    }


def test_stops_differ_in_any_of_their_columns(rows: Rows) -> None:
    assert stops(rows, at("16:00")) == {
        ("US", "a", "b", "1"): 1,
        ("DE", "a", "b", "1"): 1,
        ("US", "c", "b", "1"): 1,
        ("US", "a", "b", "2"): 1,
    }


def test_counts_of_two_halves_add_up_to_those_of_the_whole(rows: Rows) -> None:
    halves = [plain(answer(STOP_ACTIVITY, scans=scans(SCANS[part::2]))) for part in (0, 1)]
    added = sum((counts(row) for half in halves for row in half), Counter())
    assert added == sum((counts(row) for row in rows), Counter())


def counts(row: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    key = tuple(row[name] for name in ("window_start", *STOP))
    return Counter({(*key, name): row[name] for name in ("scan_count", "delivered_count", "failed_count")})
