"""The live job hands over the lease, or does the work of the command that asks for it."""

import fcntl
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from pipelines.commands import ReplayPromote
from pipelines.errors import AnotherWriter, LakeMismatch, PtsError, error_of
from pipelines.state import handover as module
from pipelines.state.exclusion import deleting_files
from pipelines.state.handover import (
    Handover,
    HandoverReply,
    HandoverRequest,
    Refusal,
    handed_over,
    stand_by,
    waiting_request,
)
from pipelines.state.replay_records import Promoted, Replays
from pipelines.state.writer_lease import WriterLease, locked
from tests.leases import writer_lease
from tests.waiting import becomes

pytestmark = pytest.mark.slow

PROMOTE = ReplayPromote(replay_id="fix")
DONE = Promoted("fix", 7, {"silver.ship_events": 3}, 0.5)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Handover]:
    with writer_lease(str(tmp_path)) as lease:
        yield Handover(lease)


def done(root: Path, command: ReplayPromote | None = PROMOTE) -> Promoted | None:
    """What the live job does in place of a command; None when the command gets the lease."""
    with handed_over(str(root), command) as result:
        return result


def next_request(job: Handover, asking: Future[Promoted | None]) -> HandoverRequest:
    while (request := job.request) is None:
        assert not asking.done()
        time.sleep(0.01)
    return request


def promoted() -> Promoted:
    return DONE


def refused() -> Promoted:
    raise LakeMismatch("A batch was cut off.")


def test_job_does_what_is_delegated_and_keeps_the_lease(
    tmp_path: Path, job: Handover, pool: ThreadPoolExecutor
) -> None:
    asking = pool.submit(done, tmp_path)
    request = next_request(job, asking)
    assert request.command == PROMOTE
    job.do(request, promoted)
    assert job.request is None, "or it would do it again"
    assert asking.result() == DONE
    with pytest.raises(AnotherWriter), writer_lease(str(tmp_path)):
        pass


def test_command_raises_what_the_job_was_refused_for(tmp_path: Path, job: Handover, pool: ThreadPoolExecutor) -> None:
    asking = pool.submit(done, tmp_path)
    job.do(next_request(job, asking), refused)
    with pytest.raises(LakeMismatch, match="A batch was cut off"):
        asking.result()


def test_every_refusal_is_known_by_its_exit_code() -> None:
    for kind in PtsError.__subclasses__():
        reply = HandoverReply(request_id="1", outcome=Refusal(exit_code=kind.exit_code, message="for a reason"))
        assert error_of(kind.exit_code) is kind
        with pytest.raises(kind, match="for a reason"):
            HandoverReply.model_validate_json(reply.model_dump_json()).result()


@pytest.mark.parametrize(
    "note",
    ["1234 promote fix", "1234", '{"request_id":"1234","code":"other","command":{"replay_id":"fix"},"more":1}'],
)
def test_command_of_other_code_gets_the_lease_whatever_else_it_says(note: str) -> None:
    """It does its work itself: nobody guesses what it means."""
    assert HandoverRequest.parse(note).command is None


def test_job_of_the_code_before_takes_a_message_for_a_request_for_the_lease() -> None:
    """It has split the note at the first space: what comes after it, it would have done."""
    assert " " not in HandoverRequest(command=PROMOTE).model_dump_json()


@pytest.mark.parametrize("text", ["", '1234 {"replay_id": "fix"}', "{}"])
def test_reply_of_other_code_is_none(tmp_path: Path, job: Handover, pool: ThreadPoolExecutor, text: str) -> None:
    (tmp_path / "_request.answer").write_text(text)
    asking = pool.submit(done, tmp_path)
    job.do(next_request(job, asking), promoted)
    assert asking.result() == DONE


def test_reply_to_a_command_that_is_gone_is_none_to_the_next(tmp_path: Path) -> None:
    reply = HandoverReply(request_id="gone", outcome=DONE)
    (tmp_path / "_request.answer").write_text(reply.model_dump_json())
    assert done(tmp_path) is None, "no job runs: the lease is the command's"


def test_delegated_command_keeps_others_from_files_and_replays_also_when_it_is_gone(
    tmp_path: Path, job: Handover, pool: ThreadPoolExecutor
) -> None:
    asking = pool.submit(done, tmp_path)
    request = next_request(job, asking)

    def promoted_alone() -> Promoted:
        with pytest.raises(AnotherWriter, match="busy with a promotion"), Replays(str(tmp_path)).one_at_a_time():
            pass
        reply = HandoverReply(request_id=request.request_id, outcome=DONE)
        (tmp_path / "_request.answer").write_text(reply.model_dump_json())
        assert asking.result(), "the command has gone"
        with pytest.raises(AnotherWriter, match="busy with a promotion"), deleting_files(str(tmp_path), 0.1):
            pass
        return DONE

    job.do(request, promoted_alone)
    with deleting_files(str(tmp_path)), Replays(str(tmp_path)).one_at_a_time():
        pass
    job.do(request, lambda: pytest.fail("the command has gone since"))


def test_note_of_a_holder_that_died_is_not_that_of_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with (tmp_path / module.REQUEST).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a new holder does, before it says who it is
        file.write(f"{gone.pid} {HandoverRequest(command=PROMOTE).model_dump_json()}")
        file.flush()
        assert waiting_request(str(tmp_path)) is None


def test_reply_of_a_job_that_ended_with_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acquire = WriterLease.acquire

    def acquire_after_the_reply(lease: WriterLease) -> None:
        acquire(lease)
        request = waiting_request(str(tmp_path))
        assert request is not None
        Handover(lease).do(request, promoted)

    monkeypatch.setattr(WriterLease, "acquire", acquire_after_the_reply)
    assert done(tmp_path) == DONE


@pytest.mark.parametrize("is_stopped", [False, True])
def test_job_that_has_handed_over_says_who_has_the_lease_until_it_is_back_or_a_stop_is_asked_for(
    is_stopped: bool,
    tmp_path: Path,
    job: Handover,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "WARNING_SECONDS", 0.1)
    stop, is_done = threading.Event(), threading.Event()

    def command() -> None:
        with handed_over(str(tmp_path)):
            is_done.wait()

    with ThreadPoolExecutor(2) as pool:
        commanding = pool.submit(command)
        while job.request is None:
            assert not commanding.done()
        waiting = pool.submit(job.hand_over, stop)
        try:
            told = ""
            while f"pts: warning: The job waits for process {os.getpid()}: it has had the lake for" not in told:
                assert not waiting.done()
                told += capsys.readouterr().err
            (stop if is_stopped else is_done).set()
            assert waiting.result(timeout=60) is not is_stopped
            if not is_stopped:
                with pytest.raises(AnotherWriter), writer_lease(str(tmp_path)):
                    pass
        finally:
            is_done.set()


@pytest.mark.usefixtures("job")
def test_command_that_nobody_answers_in_time_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(AnotherWriter, match="already writes"),
        handed_over(str(tmp_path), PROMOTE, patience_seconds=0.0),
    ):
        pass


def test_lease_is_not_asked_for_before_a_compaction_is_done(tmp_path: Path) -> None:
    """Until then the live job goes on."""
    root, begun = str(tmp_path), threading.Event()

    def command() -> str:
        begun.set()
        with handed_over(root):
            return "done" if waiting_request(root) else "not asked"

    with ThreadPoolExecutor() as pool:
        with deleting_files(root):
            waiting = pool.submit(command)
            begun.wait()
            for _ in range(10):
                assert waiting_request(root) is None
                time.sleep(0.02)
        assert waiting.result() == "done"
    assert waiting_request(root) is None


def test_second_command_that_wants_the_lease_is_refused_at_once(tmp_path: Path) -> None:
    with (
        handed_over(str(tmp_path)),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already waits for the lake"),
        handed_over(str(tmp_path)),
    ):
        pass


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standby looks more often."""
    monkeypatch.setattr(module, "LOOKS_APART_SECONDS", 0.01)


def test_standby_takes_the_lease_when_nobody_has_it_any_more(
    tmp_path: Path, pool: ThreadPoolExecutor, hurried: None, capsys: pytest.CaptureFixture[str]
) -> None:
    standby, rehearse = WriterLease(str(tmp_path)), Mock()
    with writer_lease(str(tmp_path)):
        waiting = pool.submit(stand_by, standby, threading.Event(), rehearse)
        assert becomes(lambda: rehearse.called)
        assert not waiting.done()
    assert waiting.result(10)
    rehearse.assert_called_once_with()
    with pytest.raises(AnotherWriter), writer_lease(str(tmp_path)):
        pass
    standby.release()
    told = f"This job stands by: process {os.getpid()} already writes the lake {tmp_path}."
    assert capsys.readouterr().err.count(told) == 1


def test_standby_leaves_the_lease_to_the_command_that_asks_for_it(
    tmp_path: Path, pool: ThreadPoolExecutor, hurried: None
) -> None:
    standby = WriterLease(str(tmp_path))
    with closing(locked(str(tmp_path), module.REQUEST, "")):
        waiting = pool.submit(stand_by, standby, threading.Event(), Mock())
        time.sleep(0.1)
        assert not waiting.done()
    assert waiting.result(10)
    standby.release()


def test_standby_that_is_stopped_has_nothing(tmp_path: Path, pool: ThreadPoolExecutor, hurried: None) -> None:
    stop = threading.Event()
    with writer_lease(str(tmp_path)):
        waiting = pool.submit(stand_by, WriterLease(str(tmp_path)), stop, Mock())
        stop.set()
        assert not waiting.result(10)


def test_standby_whose_lake_is_free_takes_it_without_a_rehearsal(tmp_path: Path, hurried: None) -> None:
    standby, rehearse = WriterLease(str(tmp_path)), Mock()
    assert stand_by(standby, threading.Event(), rehearse)
    standby.release()
    rehearse.assert_not_called()
