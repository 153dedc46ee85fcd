"""The mirrored group follows the newest batch, and never holds up the job or ends it."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import OffsetRange, Offsets
from pipelines.observability import lag_group
from pipelines.observability.lag_group import LagGroup
from pipelines.state.ledger import LedgerRow

NOW = datetime.now(UTC)
ROW = LedgerRow(0, "a", 0, NOW, NOW, (), {}, {})


def row(end: int) -> LedgerRow:
    return replace(ROW, ranges=(OffsetRange("ship-events", 0, 0, end),))


@pytest.fixture
def committing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Offsets], None]], LagGroup]:
    def group(commit: Callable[[Offsets], None]) -> LagGroup:
        def committed(_connection: Connection, name: str, offsets: Any) -> None:
            assert name == "a-group"
            commit(offsets)

        monkeypatch.setattr(lag_group, "commit_group_offsets", committed)
        return LagGroup(Connection(""), "a-group")

    return group


def test_last_batch_is_mirrored_before_the_end(committing: Callable[..., LagGroup]) -> None:
    mirrored: list[Offsets] = []
    with committing(mirrored.append) as group:
        for end in (1, 2, 3):
            group.batch_done(row(end), 1.0, {})
    assert mirrored[-1] == {"ship-events": {0: 3}}


def test_broker_that_does_not_answer_holds_up_no_batch(committing: Callable[..., LagGroup]) -> None:
    """Batches that come meanwhile are left out but for the newest."""
    is_asked, answers, mirrored = threading.Event(), threading.Event(), list[int]()

    def commit(offsets: Offsets) -> None:
        is_asked.set()
        assert answers.wait(20)
        mirrored.append(offsets["ship-events"][0])

    with committing(commit) as group:
        group.batch_done(row(1), 1.0, {})
        assert is_asked.wait(20)
        for end in (2, 3, 4):
            group.batch_done(row(end), 1.0, {})
        answers.set()
    assert mirrored == [1, 4]


@pytest.mark.parametrize("failure", [BrokerUnavailable("Nobody answers."), ValueError("a defect")])
def test_failure_is_told_once_and_mirroring_goes_on(
    committing: Callable[..., LagGroup], capsys: pytest.CaptureFixture[str], failure: Exception
) -> None:
    fates, tried = iter([failure, failure, None, failure]), threading.Semaphore(0)

    def commit(_offsets: Offsets) -> None:
        tried.release()
        if fate := next(fates):
            raise fate

    with committing(commit) as group:
        for end in range(4):
            group.batch_done(row(end), 1.0, {})
            assert tried.acquire(timeout=20)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2, "once before it was mended, and once after"
    assert all(line.startswith("pts: warning: the consumer group a-group does not follow the job") for line in told)
