"""Pacing, by a clock that only waiting moves."""

from itertools import repeat

import pytest

from pipelines.simulation.pacing import LARGEST_SLICE, SLICE_SECONDS, slices
from pipelines.simulation.record import Record

RECORD = Record("ship-events", b"1", b"", 0)


class Clock:
    """Seconds; waiting moves them, and `stop_at` is when somebody asks to stop."""

    def __init__(self, stop_at: float = 1e9) -> None:
        self.now = 100.0
        self._stop_at = self.now + stop_at

    def __call__(self) -> float:
        return self.now

    def stopped(self, seconds: float) -> bool:
        self.now += seconds
        return self.now >= self._stop_at


def released(rate: float, duration: float | None, clock: Clock, count: int | None = None) -> list[int]:
    records = repeat(RECORD) if count is None else repeat(RECORD, count)
    return [len(part) for part in slices(iter(records), rate, duration, clock.stopped, clock)]


@pytest.mark.parametrize("rate", [0.5, 7, 2_000, 50_000])
def test_a_rate_is_kept_to_the_record_over_ten_seconds(rate: float) -> None:
    assert sum(released(rate, 10.0, Clock())) == pytest.approx(rate * 10, abs=1)


def test_records_come_in_even_slices() -> None:
    parts = released(2_000, 1.0, Clock())
    assert max(parts) <= 2_000 * SLICE_SECONDS + 1
    assert len(parts) >= 0.9 / SLICE_SECONDS


def test_a_stall_is_caught_up_in_bounded_slices() -> None:
    clock = Clock()
    parts = slices(repeat(RECORD), 10_000, 2.0, clock.stopped, clock)
    next(parts)
    clock.now += 1.0
    sizes = [len(part) for part in parts]
    assert max(sizes) == LARGEST_SLICE
    assert sum(sizes) == pytest.approx(20_000, abs=200)


def test_the_end_of_the_records_ends_the_slices() -> None:
    assert sum(released(2_000, None, Clock(), count=1_234)) == 1_234


def test_without_a_rate_nothing_waits() -> None:
    clock = Clock()
    assert released(0, None, clock, count=2_500) == [LARGEST_SLICE, LARGEST_SLICE, 500]
    assert clock.now == 100.0


def test_without_a_rate_the_duration_still_ends_it() -> None:
    clock = Clock()
    parts = slices(repeat(RECORD), 0, 5.0, clock.stopped, clock)
    next(parts)
    clock.now += 5.0
    assert list(parts) == []


def test_a_request_to_stop_ends_the_slices() -> None:
    assert sum(released(1_000, None, Clock(stop_at=2.0))) == pytest.approx(2_000, abs=20)
