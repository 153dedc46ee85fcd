"""How much a carrier does in an hour. Each case has a carrier of its own; all are counted in one run."""

import random
from collections import Counter
from typing import Any

import pytest

from pipelines.transforms.carrier_throughput import CARRIER_THROUGHPUT
from tests.oracle.makers import at, scan
from tests.oracle.records import LogRecord
from tests.rows import answer, plain, scans

EVE = "1969-12-31"
HOUR = 3600 * 1_000_000
Rows = list[dict[str, Any]]


def busy_day(count: int) -> list[LogRecord]:
    dice = random.Random(12)
    return [
        scan(
            clock=f"{dice.randrange(20, 23)}:{dice.randrange(60):02}",
            carrier=dice.choice(["x", "y", ""]),
            status=dice.choice(["IT", "DL", ""]),
            offset=0,
        )
        for _ in range(count)
    ]


SCANS = [
    *(scan(clock=c, carrier="edges", offset=0) for c in ("09:59:59.999999", "10:00", "10:59:59.999999", "11:00")),
    scan(clock="23:59:59.999999", day=EVE, carrier="epoch", offset=0),
    scan(clock="00:00", day="1970-01-01", carrier="epoch", offset=0),
    *(scan(clock="10:30", carrier="statuses", status=status, offset=0) for status in ("IT", "DL", "DL", "", "", "")),
    *(scan(clock="12:30", carrier="", status=status, offset=0) for status in ("IT", "IT", "")),
    *(scan(clock="10:30", carrier="places", place=place, offset=0) for place in ("US,,,", "DE,,,")),
    *busy_day(80),
]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return plain(answer(CARRIER_THROUGHPUT, scans=scans(SCANS)))


def hours(rows: Rows, carrier: str | None) -> dict[tuple[int, str | None], int]:
    """A carrier's scans by start of the hour and status."""
    return {
        (row["window_start"], row["status_code"]): row["scan_count"] for row in rows if row["carrier_code"] == carrier
    }


def test_hour_counts_from_its_first_microsecond_to_its_last(rows: Rows) -> None:
    assert hours(rows, "edges") == {(at("09:00"), "IT"): 1, (at("10:00"), "IT"): 2, (at("11:00"), "IT"): 1}


def test_hour_before_the_epoch_ends_at_the_epoch(rows: Rows) -> None:
    assert hours(rows, "epoch") == {(at("23:00", EVE), "IT"): 1, (0, "IT"): 1}


def test_window_ends_an_hour_after_its_start(rows: Rows) -> None:
    assert {row["window_end"] - row["window_start"] for row in rows} == {HOUR}


def test_statuses_are_counted_apart_and_none_is_one_of_them(rows: Rows) -> None:
    hour = at("10:00")
    assert hours(rows, "statuses") == {(hour, "IT"): 1, (hour, "DL"): 2, (hour, None): 3}


def test_scans_without_a_carrier_are_counted_together(rows: Rows) -> None:
    assert {key: count for key, count in hours(rows, None).items() if key[0] == at("12:00")} == {
        (at("12:00"), "IT"): 2,
        (at("12:00"), None): 1,
    }


def test_places_do_not_matter(rows: Rows) -> None:
    assert hours(rows, "places") == {(at("10:00"), "IT"): 2}


def test_counts_of_two_halves_add_up_to_those_of_the_whole(rows: Rows) -> None:
    halves = [plain(answer(CARRIER_THROUGHPUT, scans=scans(SCANS[part::2]))) for part in (0, 1)]
    added: Counter[tuple[Any, ...]] = Counter()
    for row in (row for half in halves for row in half):
        added[row["window_start"], row["carrier_code"], row["status_code"]] += row["scan_count"]
    assert added == {(row["window_start"], row["carrier_code"], row["status_code"]): row["scan_count"] for row in rows}
