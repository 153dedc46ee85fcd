"""Windows are half-open, aligned to the Unix epoch, and the same before it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pytest

from pipelines.transforms.windows import hour_of, hour_spans, sliding_starts, tumbling_start
from tests.oracle.makers import at
from tests.rows import answer

EVE = "1969-12-31"
EPOCH_DAY = "1970-01-01"
MOMENTS = [
    ("09:59:59.999999", "2026-03-01"),
    ("10:00", "2026-03-01"),
    ("10:02:03.000004", "2026-03-01"),
    ("10:04:59.999999", "2026-03-01"),
    ("10:05", "2026-03-01"),
    ("23:54:59.999999", EVE),
    ("23:55", EVE),
    ("23:59:59.999999", EVE),
    ("00:00", EPOCH_DAY),
    ("10:00", "0001-01-03"),
]


class Starts(NamedTuple):
    """Where a moment's windows start."""

    hour: int
    week: int
    sliding: list[int]


@pytest.fixture(scope="module")
def starts() -> dict[int, Starts]:
    """By moment; all in microseconds since the epoch."""
    times = [datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC) for clock, day in MOMENTS]
    query = f"""
        SELECT epoch_us(time) AS moment, epoch_us({tumbling_start("time", timedelta(hours=1))}) AS hour,
            epoch_us({tumbling_start("time", timedelta(weeks=1))}) AS week,
            list_sort(list_transform({sliding_starts("time")}, lambda start: epoch_us(start))) AS sliding FROM moments
    """
    moments = pa.table({"time": pa.array(times, pa.timestamp("us", "UTC"))})
    rows = [tuple(row.values()) for row in answer(query, moments=moments).to_pylist()]
    return {moment: Starts(*found) for moment, *found in rows}


def test_hour_begins_at_its_first_microsecond_and_ends_before_the_next_hour(starts: dict[int, Starts]) -> None:
    assert starts[at("09:59:59.999999")].hour == at("09:00")
    assert starts[at("10:00")].hour == at("10:00")
    assert starts[at("10:02:03.000004")].hour == at("10:00")


def test_moment_is_in_two_sliding_windows(starts: dict[int, Starts]) -> None:
    assert starts[at("10:02:03.000004")].sliding == [at("09:55"), at("10:00")]
    assert {len(found.sliding) for found in starts.values()} == {2}


def test_sliding_window_holds_its_start_and_not_its_end(starts: dict[int, Starts]) -> None:
    assert starts[at("10:00")].sliding == [at("09:55"), at("10:00")]
    assert starts[at("10:04:59.999999")].sliding == [at("09:55"), at("10:00")]
    assert starts[at("10:05")].sliding == [at("10:00"), at("10:05")]


def test_windows_before_the_epoch_hold_their_start_and_not_their_end(starts: dict[int, Starts]) -> None:
    assert starts[at("23:54:59.999999", EVE)].sliding == [at("23:45", EVE), at("23:50", EVE)]
    assert starts[at("23:55", EVE)].sliding == [at("23:50", EVE), at("23:55", EVE)]
    assert starts[-1].sliding == [at("23:50", EVE), at("23:55", EVE)]
    assert starts[0].sliding == [at("23:55", EVE), 0]
    assert (starts[-1].hour, starts[0].hour) == (at("23:00", EVE), 0)


def test_windows_are_aligned_to_the_epoch_and_not_to_a_calendar(starts: dict[int, Starts]) -> None:
    """The epoch was a Thursday, and so is the start of each window of a week."""
    assert starts[at("10:00")].week == at("00:00", "2026-02-26")
    assert starts[-1].week == at("00:00", "1969-12-25")


def test_windows_of_the_first_year_are_aligned_as_all_are(starts: dict[int, Starts]) -> None:
    moment = at("10:00", "0001-01-03")
    assert (starts[moment].hour, starts[moment].sliding) == (moment, [at("09:55", "0001-01-03"), moment])


def test_hours_are_half_open_and_those_that_follow_each_other_are_one_range() -> None:
    clocks = ("09:59:59.999999", "10:00", "10:59:59.999999", "11:00")
    moments = pa.table({"micros": [at(clock) for clock in clocks]})
    hours = answer(f"SELECT {hour_of('make_timestamptz(micros)')} AS hour FROM moments", moments=moments)["hour"]
    ten = at("10:00") // 3_600_000_000
    assert hours.to_pylist() == [ten - 1, ten, ten, ten + 1]
    assert answer(f"SELECT {hour_of('make_timestamptz(-1)')} AS hour")["hour"].to_pylist() == [-1]
    assert hour_spans({ten + 4, ten + 1, ten}) == [(at("10:00"), at("12:00")), (at("14:00"), at("15:00"))]
    assert hour_spans(()) == []
