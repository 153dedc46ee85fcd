"""Who listens is told of each step; who has left, of none."""

from pipelines.progress import ReplayBegun, ReplayedBatch, ReplayEnded, Step, report, reported_to


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
