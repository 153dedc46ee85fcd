"""What signals do to a command that runs for long: end it like Ctrl-C, ask it to stop, or nothing for a while."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, a closed terminal."""


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Every ending ends the block as Ctrl-C does: by a `KeyboardInterrupt`."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(_handled_endings(), interrupt):
        yield


class StopRequest(threading.Event):
    """Set when somebody asked to stop; `is_ctrl_c` when it was a person at the keyboard.

    A signal handler may set it: it runs in the middle of the thread that waits, and would wait forever for the lock of
    a plain event that this thread holds at that moment. A `SimpleQueue` is made for that:
    https://docs.python.org/3/library/queue.html#queue.SimpleQueue.put
    """

    is_ctrl_c = False

    def __init__(self) -> None:
        super().__init__()
        self._has_asked = False
        self._asked: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Also for a signal handler."""
        self._has_asked = True
        self._asked.put(None)

    def is_set(self) -> bool:
        """Whether somebody asked."""
        return self._has_asked

    def wait(self, timeout: float | None = None) -> bool:
        """Waits so many seconds, and says whether somebody asked."""
        with suppress(Empty):
            if not self._has_asked:
                self._asked.put(self._asked.get(timeout=timeout))
        return self._has_asked


@contextmanager
def signals_ask_to_stop() -> Iterator[StopRequest]:
    """Every ending sets the event, and the block ends itself when it is at a good place."""
    stop = StopRequest()

    def ask(number: int, _frame: FrameType | None) -> None:
        stop.is_ctrl_c = number == signal.SIGINT
        stop.set()

    with _handled(_handled_endings(), ask):
        yield stop


@contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C does not cut a stop short: it would leave processes behind."""
    with _handled(ENDINGS, signal.SIG_IGN):
        yield


def _handled_endings() -> list[signal.Signals]:
    """The signals that end a command, without SIGHUP where `nohup` has this process ignore it."""
    is_deaf = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in ENDINGS if not (is_deaf and number is signal.SIGHUP)]


@contextmanager
def _handled(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], Any] | int
) -> Iterator[None]:
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)
