"""Processes of contenders: what they answer is kept, and one that dies is told of."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.benchmarks.driving import Command, Driver, RunFailed
from lab.benchmarks.processes import processes

ANSWERS = """
import json
from lab.benchmarks.answering import answer_requests
def run(request):
    print(json.dumps({"batch_id": request["number"]}))
    print("a line for the log")
answer_requests(run)
"""

PARENT = """
import subprocess
child = subprocess.Popen(["sleep", "60"])
input()
print('{"answer": {"pid": %d}}' % child.pid, flush=True)
input()
"""


def driver(code: str, folder: Path) -> Driver:
    return Driver("it", Command((sys.executable, "-c", code), {}), folder / "it.log")


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Driver]:
    started = driver(ANSWERS, tmp_path)
    yield started
    started.kill()


def test_process_answers_each_request_and_ends_with_its_input(answering: Driver) -> None:
    for number in (7, 8):
        answer = answering.ask(f'{{"number": {number}}}')
        assert answer["lines"] == [{"batch_id": number}]
        assert answer["seconds"] >= 0
    answering.close()
    assert answering.process.returncode == 0


def test_other_lines_go_to_the_log(answering: Driver, tmp_path: Path) -> None:
    answering.ask('{"number": 1}')
    assert "a line for the log" in (tmp_path / "it.log").read_text()


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "input(); raise SystemExit(3)"])
def test_process_that_ends_instead_is_told_of_with_its_log(code: str, tmp_path: Path) -> None:
    started = driver(code, tmp_path)
    with pytest.raises(RunFailed, match=r"it\.log"):
        started.ask("{}")
    started.kill()


def test_process_that_ends_badly_after_its_answer_is_told_of(tmp_path: Path) -> None:
    started = driver("""input(); print('{"answer": {}}', flush=True); raise SystemExit(3)""", tmp_path)
    started.ask("{}")
    with pytest.raises(RunFailed, match="ended with 3"):
        started.close()


@pytest.mark.slow
def test_kill_leaves_nothing_that_the_process_started(tmp_path: Path) -> None:
    started = driver(PARENT, tmp_path)
    child = started.ask("{}")["pid"]
    assert child in processes()
    started.kill()
    assert child not in processes()
