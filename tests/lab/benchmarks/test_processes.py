"""Costs are those of a process and of all that it started."""

import os
import subprocess
import sys
import time

from lab.benchmarks.live_job import first_batch_seconds, seconds_around
from lab.benchmarks.processes import MIB, Process, Tree, descendants, greatest_of_medians, processes


def process(pid: int, parent: int) -> Process:
    return Process((pid, 1_000 + pid), parent, cpu_seconds=1.0, resident_bytes=MIB)


def test_descendants_are_children_of_children_too_and_nobody_else() -> None:
    everybody = {pid: process(pid, parent) for pid, parent in ((1, 0), (5, 1), (6, 5), (7, 6), (8, 1))}
    assert {found.identity[0] for found in descendants(5, everybody, set())} == {5, 6, 7}


def test_process_that_lost_its_parent_is_still_known() -> None:
    everybody = {1: process(1, 0), 7: process(7, 1)}
    assert descendants(5, everybody, set()) == []
    assert descendants(5, everybody, {(7, 1_007)}) == [everybody[7]]


def test_work_of_a_child_counts_for_its_parent() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        tree = Tree(os.getpid())
        before = tree.cpu_seconds()
        time.sleep(0.5)
        assert tree.cpu_seconds() - before >= 0.05
        assert child.pid in {found.identity[0] for found in descendants(os.getpid(), processes(), set())}
    finally:
        child.kill()
        child.wait()


def test_a_moment_in_which_a_process_is_forked_does_not_double_its_memory() -> None:
    assert greatest_of_medians([10, 10, 10, 20, 10, 11, 11, 11, 11]) == 11
    assert greatest_of_medians([7]) == 7
    assert greatest_of_medians([]) == 0


def test_duration_of_a_batch_is_that_of_its_neighbourhood() -> None:
    batches = [{"batch_id": number, "duration_seconds": float(number % 2)} for number in range(10)]
    assert seconds_around(batches, 5) == 1.0
    assert seconds_around(batches, 50) is None


def test_first_batch_is_timed_by_its_commit() -> None:
    batches = [{"committed_at": "1970-01-01T00:01:40.500+00:00"}, {"committed_at": "1970-01-01T00:02:00.000+00:00"}]
    assert first_batch_seconds(batches, 90.0) == 10.5
    assert first_batch_seconds([], 90.0) is None
