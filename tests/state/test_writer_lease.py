"""One writer per lake, for as long as it runs."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.io.storage import locks
from pipelines.io.storage.files import files_at
from pipelines.state.writer_lease import LEASE, WriterLease
from tests.leases import writer_lease

pytestmark = pytest.mark.slow


def test_second_job_on_a_lake_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    with (
        writer_lease(str(tmp_path / "lake")),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already writes the lake"),
        writer_lease(str(tmp_path / "lake")),
    ):
        pass


def test_lake_is_free_again_when_the_job_has_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with writer_lease(str(tmp_path / "lake")):
            pass


def test_two_lakes_may_have_a_job_each(tmp_path: Path) -> None:
    with writer_lease(str(tmp_path / "one")), writer_lease(str(tmp_path / "other")):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_lake_that_cannot_be_written_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    with (
        pytest.raises(LakeUnavailable, match=r"The lake .*lake cannot be written: "),
        writer_lease(str(tmp_path / "lake")),
    ):
        pass


def test_what_fails_is_the_lease_that_another_process_has_and_else_what_failed(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LEASE_SECONDS", 5.0)
    monkeypatch.setattr(locks, "RENEWED_EVERY_SECONDS", 0.1)
    lease = WriterLease(f"{bucket}/lake")

    def fails(error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text), lease.explaining():
            raise ConnectionResetError("the store's answer")

    lease.acquire()
    fails(ConnectionResetError, "the store's answer")
    monkeypatch.setattr(locks, "LEASE_SECONDS", 1.5)  # its end is waited for
    for holder, error, text in (
        (None, ConnectionResetError, "answer"),
        ("elsewhere", AnotherWriter, "elsewhere has it"),
    ):
        files_at(lease.lake_root).write(LEASE, json.dumps({"holder": holder, "token": "other"}))
        with pytest.raises(AnotherWriter):
            until_refused(lease.check)
        fails(error, text)
    lease.release()


def until_refused(check: Callable[[], None]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        check()
        time.sleep(0.02)


def test_lease_that_was_lost_before_its_term_began_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may have begun a term of the same number meanwhile."""
    monkeypatch.setattr(locks._FileLock, "is_lost", True)
    with pytest.raises(AnotherWriter, match="was not renewed in time"):
        WriterLease(str(tmp_path)).acquire()
    monkeypatch.undo()
    with writer_lease(str(tmp_path)):
        pass
