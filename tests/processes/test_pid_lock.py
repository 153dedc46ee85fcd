"""A pid file that is removed takes nobody's lock away."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.processes.pid_lock import holder, lock, remove


def test_file_that_nobody_holds_is_removed_once(tmp_path: Path) -> None:
    os.close(lock(tmp_path / "a.pid"))
    for _ in range(2):
        remove(tmp_path / "a.pid")
        assert list(tmp_path.iterdir()) == []


def test_file_that_somebody_holds_stays(tmp_path: Path) -> None:
    handle = lock(tmp_path / "a.pid")
    remove(tmp_path / "a.pid")
    assert holder(tmp_path / "a.pid") == os.getpid()
    os.close(handle)


def test_holder_of_a_file_that_was_removed_after_it_had_opened_it_is_known_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "a.pid"
    pid_file.touch()
    opened: list[str] = []
    plainly = fcntl.flock

    def flock(handle: int, operation: int) -> None:
        if not opened:
            opened.append("a.pid")
            pid_file.unlink()
        plainly(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    handle = lock(pid_file)
    assert holder(pid_file) == os.getpid()
    os.close(handle)


def test_file_of_the_next_holder_is_not_removed_in_place_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, another one removes the file, and a third holds a new one."""
    pid_file = tmp_path / "a.pid"
    pid_file.touch()
    held: list[int] = []
    plainly = fcntl.flock

    def flock(handle: int, operation: int) -> None:
        if not held:
            held.append(-1)
            pid_file.unlink()
            held[:] = [lock(pid_file)]
        plainly(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    remove(pid_file)
    assert holder(pid_file) == os.getpid()
    os.close(held[0])


CONTENDER = """
import os, sys
from pathlib import Path
from pipelines.processes import pid_lock
from pipelines.processes.pid_lock import lock, remove
pid_lock.PATIENCE_SECONDS = 60.0
pid_file = Path(sys.argv[1])
for _ in range(200):
    handle = lock(pid_file)
    os.close(os.open(pid_file.with_suffix(".alone"), os.O_CREAT | os.O_EXCL))
    os.unlink(pid_file.with_suffix(".alone"))
    os.close(handle)
    remove(pid_file)
"""


def test_those_who_hold_and_remove_it_in_turn_are_never_two_at_one_time(tmp_path: Path) -> None:
    line = [sys.executable, "-c", CONTENDER, str(tmp_path / "a.pid")]
    contenders = [subprocess.Popen(line, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [contender.communicate(timeout=60)[1] for contender in contenders]
    assert [contender.returncode for contender in contenders] == [0] * 3, said
