"""Which tables catch up when."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipelines.engine.batch import END_OF_DEFERRAL, CatchUp, LogPosition
from pipelines.engine.schedule import CatchUpSchedule
from pipelines.graph import CATCH_UP_GROUPS
from pipelines.io.kafka.log import OffsetRange
from pipelines.state.ledger import LedgerRow, TableState

INTERVAL_SECONDS = 60.0
NOW = datetime(2026, 3, 1, tzinfo=UTC)
BEHIND = {"silver.ship_events": TableState(7, 5), "gold.stop_activity": TableState(2, 3)}
LAST = LedgerRow(5, "c", 5, NOW, NOW, (OffsetRange("ship-events", 0, 10, 20),), {}, BEHIND)
NEXT = replace(LAST, batch_id=6, ranges=(OffsetRange("ship-events", 0, 20, 30),))
LEVEL = replace(LAST, tables={"silver.ship_events": TableState(7, 5), "gold.stop_activity": TableState(3, 5)})


class Clock:
    """Seconds, set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_no_table_catches_up_before_the_first_interval_is_over(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS - 0.1
    assert schedule.next(LAST) is None
    clock.now += 0.1
    assert schedule.next(LAST) is not None


def test_a_round_brings_all_to_the_batch_before_it_one_group_in_a_batch(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS
    found = [schedule.next(row) for row in (LAST, *[NEXT] * (len(CATCH_UP_GROUPS) - 1))]
    assert found == [CatchUp((group,), LogPosition(5, {"ship-events": {0: 20}})) for group in CATCH_UP_GROUPS]
    assert schedule.next(NEXT) is None


def test_a_round_that_is_due_begins_at_once_and_the_next_one_an_interval_later(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    schedule.restart(is_due=True)
    assert [schedule.next(NEXT) is not None for _ in range(len(CATCH_UP_GROUPS) + 1)] == [True] * len(
        CATCH_UP_GROUPS
    ) + [False]
    clock.now += INTERVAL_SECONDS
    assert schedule.next(NEXT) is not None


def test_a_round_begins_with_a_batch_that_brings_up_a_large_table_which_waited(clock: Clock) -> None:
    waits = {**BEHIND, "gold.remaining_stops": TableState(4, 4)}
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS
    assert schedule.next(replace(LAST, tables=waits)) == END_OF_DEFERRAL
    brought = replace(NEXT, tables={**BEHIND, "gold.remaining_stops": TableState(5, 6)})
    assert schedule.next(brought) == CatchUp(CATCH_UP_GROUPS[:1], LogPosition.of(NEXT)), (
        "to the batch at which that one stands"
    )


def test_the_next_round_begins_one_interval_after_the_last_began(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS
    for _ in CATCH_UP_GROUPS:
        schedule.next(LAST)
    clock.now += INTERVAL_SECONDS
    assert schedule.next(NEXT) == CatchUp(CATCH_UP_GROUPS[:1], LogPosition(6, {"ship-events": {0: 30}}))


def test_no_table_catches_up_where_none_waits(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS
    assert schedule.next(LEVEL) is None
    assert schedule.next(None) is None


def test_after_all_were_brought_up_to_date_groups_that_were_left_are_not_taken(clock: Clock) -> None:
    schedule = CatchUpSchedule(INTERVAL_SECONDS, clock)
    clock.now += INTERVAL_SECONDS
    schedule.next(LAST)
    schedule.restart()
    assert schedule.next(LAST) is None
