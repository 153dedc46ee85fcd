"""What a signal does to a running command."""

import signal
from collections.abc import Iterator

import pytest

from pipelines.jobs.interrupts import ENDINGS, signals_ask_to_stop, signals_interrupt, undisturbed


@pytest.fixture(autouse=True)
def _handlers_are_put_back() -> Iterator[None]:
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
