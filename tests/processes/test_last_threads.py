"""The end of a process, with and without a thread that goes on."""

import os
import sys
from collections.abc import Iterator
from threading import Event, Thread
from weakref import WeakSet

import pytest

from pipelines.processes import last_threads
from pipelines.processes.last_threads import call_in_thread


class EndedAtOnce(BaseException):
    """In place of the end."""


@pytest.fixture
def is_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """What a thread waits for that was left. The process does not really end."""
    event = Event()
    thread = Thread(target=event.wait, daemon=True)
    thread.start()

    def end(code: int) -> None:
        raise EndedAtOnce(code)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("atexit._run_exitfuncs", lambda: sys.stdout.write("exit functions"))
    monkeypatch.setattr(last_threads, "_left", WeakSet())
    last_threads.await_end(thread, 0)
    yield event
    event.set()
    thread.join()


@pytest.mark.parametrize(("code", "told"), [(None, 0), (0, 0), (19, 19)])
def test_process_ends_at_once_where_a_thread_goes_on(
    code: int | None, told: int, is_over: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EndedAtOnce) as ended:
        last_threads.exit_process(code)
    assert ended.value.args == (told,)
    assert capsys.readouterr().out == "exit functions"


def test_process_ends_as_any_where_the_thread_has_ended_since(is_over: Event) -> None:
    is_over.set()
    (thread,) = last_threads._left
    thread.join()
    with pytest.raises(SystemExit) as ended:
        last_threads.exit_process(19)
    assert ended.value.code == 19


def test_thread_that_ends_in_time_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_threads, "_left", WeakSet())
    thread = Thread(target=lambda: None)
    thread.start()
    last_threads.await_end(thread, 10)
    assert not last_threads._left


def test_call_that_does_not_come_back_keeps_no_process(is_over: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_threads, "_left", WeakSet())
    assert call_in_thread(lambda: 42).result(10) == 42
    with pytest.raises(ZeroDivisionError):
        call_in_thread(lambda: 1 // 0).result(10)
    waiting = call_in_thread(is_over.wait)
    with pytest.raises(EndedAtOnce):
        last_threads.exit_process(0)
    is_over.set()
    assert waiting.result(10)
