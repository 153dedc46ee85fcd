"""Threads that a process does not wait for when it ends, because what they wait for may be away."""

import atexit
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import NoReturn, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_left: WeakSet[Thread] = WeakSet()


def call_in_thread(call: Callable[[], T]) -> Future[T]:
    """What becomes of a call that may not come back."""
    answer: Future[T] = Future()

    def make() -> None:
        try:
            answer.set_result(call())
        except Exception as error:
            answer.set_exception(error)

    thread = Thread(target=make, daemon=True)
    _left.add(thread)
    thread.start()
    return answer


def await_end(thread: Thread, seconds: float) -> None:
    """Waits for the thread's end, for so long."""
    thread.join(seconds)
    if thread.is_alive():
        _left.add(thread)


def exit_process(code: int | str | None) -> NoReturn:
    """Ends the process as `sys.exit` does, and at once where a thread has not ended: Python would take from under it
    what it works with, and DuckDB then complains on standard error, or the process crashes.
    """
    if any(thread.is_alive() for thread in _left) and not isinstance(code, str):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    sys.exit(code)
