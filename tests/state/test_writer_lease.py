"""One live job per lake, for as long as it runs."""

import fcntl
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.state import writer_lease as module
from pipelines.state.replay_records import Replays
from pipelines.state.writer_lease import LiveLock, Request, borrowed, correcting, files_held, live_lock


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def answer_to(root: str, errand: str) -> str | None:
    with borrowed(root, errand) as answer:
        return answer


def next_request(lock: LiveLock, asking: Future[str | None]) -> Request:
    while (request := lock.request) is None:
        assert not asking.done()
        time.sleep(0.01)
    return request


def test_second_job_on_a_lake_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    with (
        live_lock(str(tmp_path / "lake")),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already writes the lake"),
        live_lock(str(tmp_path / "lake")),
    ):
        pass


def test_lake_is_free_again_when_the_job_has_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with live_lock(str(tmp_path / "lake")):
            pass


def test_two_lakes_may_have_a_job_each(tmp_path: Path) -> None:
    with live_lock(str(tmp_path / "one")), live_lock(str(tmp_path / "other")):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_lake_at_a_uri_gets_no_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with live_lock(tmp_path.as_uri()), live_lock(tmp_path.as_uri()), borrowed(tmp_path.as_uri()):
        assert list(tmp_path.iterdir()) == []


def test_lake_that_cannot_be_written_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    with (
        pytest.raises(LakeUnavailable, match=r"The lake .*lake cannot be written: "),
        live_lock(str(tmp_path / "lake")),
    ):
        pass


def test_job_that_knows_the_errand_answers_and_keeps_the_lake(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    with live_lock(str(tmp_path)) as lock:
        asking = pool.submit(answer_to, str(tmp_path), "promote fix")
        request = next_request(lock, asking)
        assert request.errand == "promote fix"
        lock.answer(request, "done")
        assert lock.request is None, "or it would do the errand again"
        assert asking.result() == "done"
        with pytest.raises(AnotherWriter), live_lock(str(tmp_path)):
            pass


def test_answer_to_a_command_that_is_gone_is_none_to_the_next(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    with live_lock(str(tmp_path)) as lock:
        lock.answer(Request("gone", "promote fix"), "done")
        asking = pool.submit(answer_to, str(tmp_path), "promote fix")
        next_request(lock, asking)
        assert not asking.done()
    assert asking.result() is None, "the job has ended: the lake is the command's"


def test_errand_keeps_others_from_files_and_replays_also_when_the_command_is_gone(
    tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    with live_lock(str(tmp_path)) as lock:
        asking = pool.submit(answer_to, str(tmp_path), "promote fix")
        request = next_request(lock, asking)
        with lock.errand(request) as is_wanted:
            assert is_wanted
            lock.answer(request, "done")
            assert asking.result() == "done"
            with pytest.raises(AnotherWriter, match="busy with a promotion"), files_held(str(tmp_path), 0.1):
                pass
            with pytest.raises(AnotherWriter, match="busy with a promotion"), Replays(str(tmp_path)).one_at_a_time():
                pass
        with lock.errand(request) as is_wanted:
            assert not is_wanted, "the command has gone since"
        with files_held(str(tmp_path)), Replays(str(tmp_path)).one_at_a_time():
            pass


def test_words_of_a_holder_that_died_are_not_those_of_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with live_lock(str(tmp_path)) as lock, module.request_file(str(tmp_path)).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a new holder does, before it says who it is
        file.write(f"{gone.pid} 1234 promote fix")
        file.flush()
        assert lock.request is None


def test_answer_of_a_job_that_ended_with_it_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acquire = LiveLock.acquire

    def acquire_after_the_answer(lock: LiveLock) -> None:
        acquire(lock)
        request = lock.request
        assert request is not None
        lock.answer(request, "done")

    monkeypatch.setattr(LiveLock, "acquire", acquire_after_the_answer)
    assert answer_to(str(tmp_path), "promote fix") == "done"


@pytest.mark.parametrize("is_stopped", [False, True])
def test_job_that_lends_the_lake_says_who_has_it_until_it_is_back_or_a_stop_is_asked_for(
    is_stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "TOLD_SECONDS", 0.1)
    stop, is_done = threading.Event(), threading.Event()

    def borrow() -> None:
        with borrowed(str(tmp_path)):
            is_done.wait()

    with live_lock(str(tmp_path)) as lock, ThreadPoolExecutor(2) as pool:
        borrowing = pool.submit(borrow)
        while lock.request is None:
            assert not borrowing.done()
        lending = pool.submit(lock.lend, stop)
        try:
            told = ""
            while f"pts: warning: The job waits for process {os.getpid()}: it has had the lake for" not in told:
                assert not lending.done()
                told += capsys.readouterr().err
            (stop if is_stopped else is_done).set()
            assert lending.result(timeout=10) is not is_stopped
            if not is_stopped:
                with pytest.raises(AnotherWriter), live_lock(str(tmp_path)):
                    pass
        finally:
            is_done.set()


def test_command_whose_errand_nobody_does_in_time_is_refused(tmp_path: Path) -> None:
    with (
        live_lock(str(tmp_path)),
        pytest.raises(AnotherWriter, match="already writes"),
        borrowed(str(tmp_path), "promote fix", patience_seconds=0.0),
    ):
        pass


def test_lake_is_not_asked_for_before_a_compaction_is_done(tmp_path: Path) -> None:
    """Until then the live job goes on."""
    root, begun = str(tmp_path), threading.Event()

    def borrow() -> str:
        begun.set()
        with borrowed(root):
            return "done" if LiveLock(root).request else "not asked"

    with ThreadPoolExecutor() as pool:
        with files_held(root):
            waiting = pool.submit(borrow)
            begun.wait()
            for _ in range(10):
                assert LiveLock(root).request is None
                time.sleep(0.02)
        assert waiting.result() == "done"
    assert LiveLock(root).request is None


def test_second_command_that_wants_the_lake_is_refused_at_once(tmp_path: Path) -> None:
    with (
        borrowed(str(tmp_path)),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already waits for the lake"),
        borrowed(str(tmp_path)),
    ):
        pass


def test_second_command_that_corrects_rows_is_refused_and_the_live_job_is_not(tmp_path: Path) -> None:
    with (
        correcting(str(tmp_path)),
        live_lock(str(tmp_path)),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already corrects rows"),
        correcting(str(tmp_path)),
    ):
        pass
    with correcting(tmp_path.as_uri()), correcting(tmp_path.as_uri()):
        pass


def test_files_are_not_held_while_a_command_has_the_lake(tmp_path: Path) -> None:
    with (
        borrowed(str(tmp_path)),
        pytest.raises(AnotherWriter, match="takes files out of the tables"),
        files_held(str(tmp_path), patience_seconds=0.1),
    ):
        pass
