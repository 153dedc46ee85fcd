from datetime import timedelta

from pipelines.io.kafka_log import OffsetRange, Offsets
from pipelines.jobs.pace import Pace

WINDOWS = timedelta(seconds=30)
BATCH = (OffsetRange("ship-events", 0, 10, 20), OffsetRange("ship-events", 1, 5, 9))
BEYOND: Offsets = {"ship-events": {0: 20, 1: 10}}
HERE: Offsets = {"ship-events": {0: 20, 1: 9}}


class Clock:
    """Seconds, set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_everything_is_due_in_the_first_batch() -> None:
    pace = Pace(lambda: BEYOND, Clock())
    assert pace.is_due(WINDOWS, BATCH)
    assert not pace.is_due(WINDOWS, BATCH)


def test_a_pace_is_due_again_after_its_time() -> None:
    clock = Clock()
    pace = Pace(lambda: BEYOND, clock)
    pace.is_due(WINDOWS, BATCH)
    clock.now += 29.9
    assert not pace.is_due(WINDOWS, BATCH)
    clock.now += 0.1
    assert pace.is_due(WINDOWS, BATCH)
    assert not pace.is_due(WINDOWS, BATCH)


def test_what_moves_with_every_batch_is_always_due() -> None:
    pace = Pace(lambda: BEYOND, Clock())
    assert all(pace.is_due(timedelta(0), BATCH) for _ in range(3))


def test_everything_is_due_at_the_end_of_the_log() -> None:
    pace = Pace(lambda: HERE, Clock())
    assert all(pace.is_due(WINDOWS, BATCH) for _ in range(3))


def test_one_partition_with_more_records_is_not_the_end_of_the_log() -> None:
    pace = Pace(lambda: BEYOND, Clock())
    pace.is_due(WINDOWS, BATCH)
    assert not pace.is_due(WINDOWS, BATCH)
