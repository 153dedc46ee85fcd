import json
import os
import socket
import time
from pathlib import Path

import obstore
import pytest

from pipelines.io.storage import locks
from pipelines.io.storage.files import files_at
from pipelines.io.storage.locks import Holder
from pipelines.io.storage.objects import ObjectFiles, Version
from pipelines.lake_root import is_in_store
from tests.waiting import becomes

pytestmark = pytest.mark.slow

LEASE = "_live.lock"
SHORT_SECONDS = 1.5
"""A lease whose end is waited for."""

SLEPT_THROUGH_SECONDS = 3.0
"""One that is renewed while a test sleeps for longer."""


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases of a few seconds: one that is renewed in time, also on a busy machine."""
    monkeypatch.setattr(locks, "LEASE_SECONDS", 5.0)
    monkeypatch.setattr(locks, "_held", set())
    monkeypatch.setattr(locks, "RENEWED_EVERY_SECONDS", 0.1)
    monkeypatch.setattr(locks, "POLL_SECONDS", 0.02)


@pytest.fixture(params=["folder", "store"])
def root(request: pytest.FixtureRequest, tmp_path: Path, hurried: None) -> str:
    return f"{request.getfixturevalue('bucket')}/lake" if request.param == "store" else str(tmp_path / "lake")


def test_lock_is_one_process_s_until_it_gives_it_back(root: str) -> None:
    assert locks.holder(root, LEASE) is None
    first = locks.locked(root, LEASE, "of code 1")
    with pytest.raises(BlockingIOError):
        locks.locked(root, LEASE)
    me = f"process {os.getpid()}" + (f" on {socket.gethostname()}" if is_in_store(root) else "")
    assert locks.holder(root, LEASE) == Holder(me, "of code 1", is_me=True)
    assert not first.is_lost
    first.close()
    assert locks.holder(root, LEASE) is None
    locks.locked(root, LEASE).close()


def test_lease_that_is_not_renewed_is_the_next_one_s(
    bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"{bucket}/lake"
    monkeypatch.setattr(locks, "LEASE_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(locks._Lease, "_renew", lambda _: None)
    frozen = locks.locked(root, LEASE)
    began = time.monotonic()
    watched = locks.holder(root, LEASE)
    second = locks.locked(root, LEASE, "second")
    assert time.monotonic() - began >= locks.LEASE_SECONDS, "it may still be renewed"
    assert watched is not None
    assert frozen.is_lost
    frozen.close()
    held = locks.holder(root, LEASE)
    assert held is not None
    assert held.note == "second", "who has lost it does not give it back"
    second.close()


def test_slow_look_at_a_lease_that_is_renewed_does_not_take_it(
    bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LEASE_SECONDS", SLEPT_THROUGH_SECONDS)
    lease, look = locks.locked(f"{bucket}/lake", LEASE), ObjectFiles.version

    def slowly(files: ObjectFiles, name: str) -> Version | None:
        time.sleep(1.2 * locks.LEASE_SECONDS)
        return look(files, name)

    with monkeypatch.context() as patched:
        patched.setattr(ObjectFiles, "version", slowly)
        with pytest.raises(BlockingIOError):
            locks.locked(f"{bucket}/lake", LEASE)
    assert not lease.is_lost
    lease.close()


def test_lease_of_a_process_that_has_gone_runs_out(bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    root = f"{bucket}/lake"
    monkeypatch.setattr(locks, "LEASE_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(locks._Lease, "_renew", lambda _: None)
    locks.locked(root, LEASE)
    assert locks.holder(root, LEASE)
    time.sleep(locks.LEASE_SECONDS)
    assert locks.holder(root, LEASE) is None


def test_first_look_at_a_lease_tells_whether_its_process_is_alive(
    bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"{bucket}/lake"
    alive = locks.locked(root, "alive", "of code 1")
    with monkeypatch.context() as patched:
        patched.setattr(locks._Lease, "_renew", lambda _: None)
        locks.locked(root, "gone")
    monkeypatch.setattr(locks, "_own_tokens", set())
    locks._watch.cache_clear()  # as another process begins
    found = locks.holder(root, "alive")
    assert found is not None
    assert found.note == "of code 1"
    monkeypatch.setattr(locks, "LEASE_SECONDS", SHORT_SECONDS)
    assert locks.holder(root, "gone") is None
    alive.close()


def test_lease_is_held_for_longer_than_it_lasts_and_lost_when_another_takes_it(
    bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"{bucket}/lake"
    monkeypatch.setattr(locks, "LEASE_SECONDS", SLEPT_THROUGH_SECONDS)
    lease = locks.locked(root, LEASE)
    time.sleep(1.2 * locks.LEASE_SECONDS)
    assert not locks.is_any_lost()
    files_at(root).write(LEASE, json.dumps({"holder": "process 1 elsewhere", "token": "other"}))
    assert becomes(lambda: lease.is_lost, 60)
    assert locks.is_any_lost()
    lease.close()
    assert not locks.is_any_lost()
    assert locks.holder(root, LEASE) == Holder("process 1 elsewhere", "", is_me=False)


def test_lease_that_the_store_gave_and_did_not_answer_is_had(
    bucket: str, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = obstore.put

    def put_twice(*arguments: object, **options: object) -> object:
        put(*arguments, **options)  # type: ignore[arg-type]
        return put(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(obstore, "put", put_twice)
    lease = locks.locked(f"{bucket}/lake", LEASE)
    time.sleep(3 * locks.RENEWED_EVERY_SECONDS)
    assert not lease.is_lost
    lease.close()
    assert locks.holder(f"{bucket}/lake", LEASE) is None
