"""Who listens is told of each step; who has left, of none."""

import pytest

from pipelines.progress import (
    PartAdvanced,
    PartBegun,
    PartEnded,
    ReplayBegun,
    ReplayedBatch,
    ReplayEnded,
    Step,
    part,
    report,
    reported_to,
)


def test_steps_are_told_within_the_block_and_to_all_who_listen() -> None:
    first, second = list[Step](), list[Step]()
    report(ReplayEnded())
    with reported_to(first.append):
        report(ReplayBegun(10, 0))
        with reported_to(second.append):
            report(ReplayEnded())
    report(ReplayEnded())
    assert first == [ReplayBegun(10, 0), ReplayEnded()]
    assert second == [ReplayEnded()]


def test_what_is_left_of_a_replay_is_estimated_by_its_speed() -> None:
    assert ReplayedBatch(3, 50, 0.5, records_done=60, records_left=40, records_per_second=20.0).as_json() == {
        "batch_id": 3, "records": 50, "duration_seconds": 0.5, "records_done": 60, "records_left": 40,
        "seconds_left": 2,
    }  # fmt: skip


def test_part_is_told_from_its_beginning_to_its_end_also_when_it_fails() -> None:
    told = list[Step]()

    def fail() -> None:
        with part("Comparing", 10) as advance:
            advance(3)
            raise ZeroDivisionError

    with reported_to(told.append), pytest.raises(ZeroDivisionError):
        fail()
    assert told[:2] == [PartBegun("Comparing", 10), PartAdvanced(3)]
    assert [type(each) for each in told[2:]] == [PartEnded]
