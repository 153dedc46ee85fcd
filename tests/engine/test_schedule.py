"""Who has a turn when."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipelines.engine.batch import END_OF_DEFERRAL, Following, LogPosition
from pipelines.engine.schedule import Cycle
from pipelines.graph import TURNS
from pipelines.io.kafka.log import OffsetRange
from pipelines.state.ledger import LedgerRow, TableState

PACE = 60.0
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


def test_nobody_has_a_turn_before_the_first_pace_is_over(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    clock.now += PACE - 0.1
    assert cycle.next(LAST) is None
    clock.now += 0.1
    assert cycle.next(LAST) is not None


def test_a_cycle_brings_all_to_the_batch_before_it_one_turn_in_a_batch(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    clock.now += PACE
    found = [cycle.next(row) for row in (LAST, *[NEXT] * (len(TURNS) - 1))]
    assert found == [Following((turn,), LogPosition(5, {"ship-events": {0: 20}})) for turn in TURNS]
    assert cycle.next(NEXT) is None


def test_a_cycle_that_is_due_begins_at_once_and_the_next_one_a_pace_later(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    cycle.begin_anew(is_due=True)
    assert [cycle.next(NEXT) is not None for _ in range(len(TURNS) + 1)] == [True] * len(TURNS) + [False]
    clock.now += PACE
    assert cycle.next(NEXT) is not None


def test_a_cycle_begins_with_a_batch_that_brings_up_a_large_table_which_waited(clock: Clock) -> None:
    waits = {**BEHIND, "gold.remaining_stops": TableState(4, 4)}
    cycle = Cycle(PACE, clock)
    clock.now += PACE
    assert cycle.next(replace(LAST, tables=waits)) == END_OF_DEFERRAL
    brought = replace(NEXT, tables={**BEHIND, "gold.remaining_stops": TableState(5, 6)})
    assert cycle.next(brought) == Following(TURNS[:1], LogPosition.of(NEXT)), "to the batch at which that one stands"


def test_the_next_cycle_begins_one_pace_after_the_last_began(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    clock.now += PACE
    for _ in TURNS:
        cycle.next(LAST)
    clock.now += PACE
    assert cycle.next(NEXT) == Following(TURNS[:1], LogPosition(6, {"ship-events": {0: 30}}))


def test_nobody_has_a_turn_where_nobody_waits(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    clock.now += PACE
    assert cycle.next(LEVEL) is None
    assert cycle.next(None) is None


def test_after_all_were_brought_up_to_date_turns_that_were_left_are_not_taken(clock: Clock) -> None:
    cycle = Cycle(PACE, clock)
    clock.now += PACE
    cycle.next(LAST)
    cycle.begin_anew()
    assert cycle.next(LAST) is None
