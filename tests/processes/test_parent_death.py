"""A command ends with those who started it, and a new one first ends the last."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.processes.parent_death import end_holder, end_remains, ended_with_parent
from pipelines.processes.pid_lock import guarded, holder
from tests.waiting import becomes

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""
FORKS = """
import os, time
if pid := os.fork():
    print(pid, flush=True)
time.sleep(60)
"""
PARENT = """
import subprocess, sys
from pathlib import Path
from pipelines.processes.parent_death import ended_with_parent
subprocess.Popen(ended_with_parent(Path(sys.argv[1]), sys.argv[2:]), start_new_session=True).wait()
"""

Start = Callable[[list[str]], "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes in sessions of their own; they are gone at the end."""
    started: list[subprocess.Popen[str]] = []

    def begin(command: list[str]) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def is_alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's end")
def test_command_ends_when_its_parent_is_killed(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "task.pid"
    parent = start([sys.executable, "-c", PARENT, str(pid_file), *SLEEPS])
    assert becomes(lambda: holder(pid_file) is not None)
    command = holder(pid_file)
    assert command
    assert command != parent.pid

    parent.kill()

    assert becomes(lambda: not is_alive(command))


def test_command_whose_parent_is_gone_already_does_not_begin(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "task.pid"
    line = ended_with_parent(pid_file, SLEEPS)
    line[line.index(str(os.getpid()))] = "1"
    late = start(line)

    assert late.wait(timeout=20) == 1
    assert holder(pid_file) is None


def test_survivor_that_does_not_listen_is_killed_with_what_it_started(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "task.pid"
    survivor = start(ended_with_parent(pid_file, [sys.executable, "-c", STUBBORN]))
    assert survivor.stdout
    child = int(survivor.stdout.readline())
    assert holder(pid_file) == survivor.pid

    assert end_holder(pid_file, patience_seconds=0.2) == survivor.pid

    assert survivor.wait(timeout=50) == -signal.SIGKILL
    assert becomes(lambda: not is_alive(child))
    assert end_holder(pid_file) is None


def test_two_tries_never_run_side_by_side(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "task.pid"
    first = start(ended_with_parent(pid_file, SLEEPS))
    assert becomes(lambda: holder(pid_file) == first.pid)

    second = start(ended_with_parent(pid_file, SLEEPS))

    assert becomes(lambda: holder(pid_file) == second.pid)
    assert first.wait(timeout=50) == -signal.SIGTERM
    assert second.poll() is None
    second.terminate()
    assert second.stderr
    assert f"ended process {first.pid}, which an earlier try had left behind" in second.stderr.read()


def test_what_a_killed_leader_had_forked_holds_its_file_no_longer(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "scheduler.pid"
    leader = start(guarded(pid_file, [sys.executable, "-c", FORKS]))
    assert leader.stdout
    fork = int(leader.stdout.readline())
    end_remains(pid_file)
    assert leader.poll() is None, "a leader that lives is left alone"
    leader.kill()
    leader.wait()
    assert holder(pid_file) == leader.pid

    end_remains(pid_file)

    assert holder(pid_file) is None
    assert becomes(lambda: not is_alive(fork))
