"""Processes of tasks, without Spark."""

import gc
import socket
from collections.abc import Iterator

import pytest

from pipelines.engine import task_daemon


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    """To Spark, as far as these tests need it; and what is frozen by then, is no longer."""
    with socket.socket() as opened:
        yield opened
    gc.unfreeze()


def test_task_that_spark_has_given_up_ends_without_a_word(sock: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    def given_up(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(task_daemon, "_do_task", given_up)
    assert task_daemon.worker(sock, True) == 1


def test_what_was_loaded_before_a_task_is_not_looked_through_after_each(
    sock: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []
    loaded.append(loaded)
    seen = []

    def task(*_: object) -> int:
        seen.append(any(each is loaded for each in gc.get_objects()))
        return 0

    monkeypatch.setattr(task_daemon, "_do_task", task)
    assert task_daemon.worker(sock, True) == 0
    assert seen == [False]
