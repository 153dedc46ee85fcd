"""What a signal does to a running command."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from pipelines.processes.signals import ENDINGS, StopRequest, signals_ask_to_stop, signals_interrupt, undisturbed


@pytest.fixture(autouse=True)
def _handlers_are_put_back(closed_terminal_ends_processes: None) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDINGS}
    yield
    after = {number: signal.getsignal(number) for number in ENDINGS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_interrupts_like_ctrl_c(ending: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), signals_interrupt():
        signal.raise_signal(ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_asks_a_job_to_stop(ending: signal.Signals) -> None:
    with signals_ask_to_stop() as stop:
        assert not stop.is_set()
        signal.raise_signal(ending)
        assert stop.is_set()


def test_stop_wakes_every_thread_that_waits() -> None:
    stop = StopRequest()
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(stop.wait, 30) for _ in range(3)]
        assert not stop.wait(0.05)
        stop.set()
        assert all(future.result(timeout=60) for future in waiting)
    assert stop.wait()


def test_signal_that_comes_while_the_event_is_looked_at_does_not_lock_the_process_up() -> None:
    """A handler runs between any two instructions of the thread that waits, also of those with a lock held."""
    stop = StopRequest()

    def ask_at_every_line(_frame: FrameType, _event: str, _argument: object) -> Any:
        stop.set()
        return ask_at_every_line

    waiting = threading.Thread(target=traced, args=(ask_at_every_line, stop.wait), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()
    assert stop.is_set()


def traced(trace: Any, call: Callable[[], object]) -> None:
    sys.settrace(trace)
    call()
    sys.settrace(None)


def test_job_that_nohup_started_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_ask_to_stop() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("ending", ENDINGS)
def test_second_ctrl_c_does_not_cut_a_stop_short(ending: signal.Signals) -> None:
    with undisturbed():
        signal.raise_signal(ending)
