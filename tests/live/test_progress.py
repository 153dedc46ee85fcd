"""The heartbeat goes on, whatever the job's threads do; and what they tell at one time is right."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.errors import BrokerUnavailable, LakeUnavailable, LogTruncated, TopicMismatch
from pipelines.io.kafka.admin import records_between
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import OffsetRange, Offsets
from pipelines.live import progress as module
from pipelines.live.progress import LiveProgress
from pipelines.progress import BatchDone, Step, reported_to
from pipelines.state.heartbeat import last_beat
from pipelines.state.ledger import LedgerRow
from tests.waiting import becomes

START: Offsets = {"ship-events": {0: 0, 1: 0}}
BATCH = LedgerRow(
    batch_id=0, checkpoint_id="a", checkpoint_batch_id=0, started_at=datetime.now(UTC), committed_at=datetime.now(UTC),
    ranges=tuple(OffsetRange("ship-events", partition, 0, 5) for partition in (0, 1)), counts={}, tables={},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.01)


def progress(lake: Path, monkeypatch: pytest.MonkeyPatch, ends: Callable[[], Offsets]) -> LiveProgress:
    """Of a job at the begin of a log that ends there."""
    monkeypatch.setattr(module, "end_offsets", lambda _servers, _topics: ends())
    return LiveProgress(Connection(""), list(START), START, str(lake))


def beats_again(lake: Path) -> bool:
    """Whether word comes that is newer than this moment."""
    now = datetime.now(UTC) + timedelta(milliseconds=1)
    return becomes(lambda: (told := last_beat(str(lake))) is not None and told["at"] > now)


def is_raised(error: type[Exception], made: LiveProgress) -> bool:
    try:
        made.check()
    except error:
        return True
    return False


def test_heart_beats_while_the_job_is_busy_and_not_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress(tmp_path, monkeypatch, lambda: START):
        assert beats_again(tmp_path)  # this thread does nothing for it
        assert beats_again(tmp_path)
    (last := tmp_path / "_live.heartbeat").unlink()
    time.sleep(0.1)
    assert not last.exists()


def test_broker_that_is_away_does_not_stop_the_heart_and_the_lag_is_the_one_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = threading.Event()

    def ends() -> Offsets:
        if away.is_set():
            raise BrokerUnavailable("away")
        return {"ship-events": {0: 3, 1: 4}}

    with progress(tmp_path, monkeypatch, ends) as made:
        away.set()
        assert beats_again(tmp_path)
        told = last_beat(str(tmp_path))
        made.check()
    assert told
    assert told["lag_records"] == 7
    assert told["lag_by_partition"] == {"ship-events": {"0": 3, "1": 4}}


@pytest.mark.parametrize("error", [TopicMismatch, ValueError])
def test_what_else_goes_wrong_beside_the_job_is_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    is_wrong = threading.Event()

    def ends() -> Offsets:
        if is_wrong.is_set():
            raise error("gone")
        return START

    with progress(tmp_path, monkeypatch, ends) as made:
        made.check()
        is_wrong.set()
        assert becomes(lambda: is_raised(error, made))


def test_heartbeat_that_cannot_be_written_is_the_jobs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with progress(tmp_path / "gone", monkeypatch, lambda: START) as made:
        assert becomes(lambda: is_raised(LakeUnavailable, made))


def test_log_that_ends_before_what_was_read_of_it_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = BATCH.end_offsets
    with progress(tmp_path, monkeypatch, lambda: end) as made:
        made.batch_done(BATCH, 1.0, {})
        made.check()
        end = {"ship-events": {0: 5, 1: 4}}
        assert becomes(lambda: is_raised(LogTruncated, made))
        with pytest.raises(LogTruncated, match="ship-events/1 ends at offset 4, but the lake has read up to 5"):
            made.check()


def test_batches_are_told_while_the_heart_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(position: Offsets, head: Offsets) -> int:
        time.sleep(0.001)  # the other thread's turn: without the lock both removed one head
        return records_between(position, head)

    monkeypatch.setattr(module, "BEAT_SECONDS", 0)
    monkeypatch.setattr(module, "records_between", slowly)
    told: list[Step] = []
    with progress(tmp_path, monkeypatch, lambda: BATCH.end_offsets) as made, reported_to(told.append):
        for _ in range(100):
            made.batch_done(BATCH, 1.0, {})
        made.check()
    assert [step.lag_records for step in told if isinstance(step, BatchDone)] == [0] * 100


def test_partition_that_is_ahead_makes_up_for_no_other_one() -> None:
    assert records_between({"a": {0: 5, 1: 5}}, {"a": {0: 3, 1: 6}, "b": {0: 2}}) == 3
