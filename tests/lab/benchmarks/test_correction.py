"""How long the live job waited for a command."""

from typing import Any

from lab.benchmarks.correction import longest_pause


def batch(second: int, duration: float, records: int = 1) -> dict[str, Any]:
    committed_at = f"2026-01-01T00:00:{second:02}+00:00"
    return {"committed_at": committed_at, "duration_seconds": duration, "records": records}


def test_pause_is_between_two_batches_and_not_within_one_nor_before_the_command() -> None:
    batches = [batch(1, 1), batch(20, 2), batch(30, 9), batch(37, 1)]
    assert longest_pause(batches, since=1_767_225_625) == 6
    assert longest_pause(batches, since=1_767_225_600) == 17


def test_a_batch_that_reads_nothing_is_part_of_a_pause() -> None:
    assert longest_pause([batch(1, 1), batch(10, 5, records=0), batch(20, 2)], since=1_767_225_600) == 17
