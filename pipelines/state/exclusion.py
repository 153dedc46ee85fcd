"""Which commands exclude each other, beside the writer lease: those that delete files, and those that correct rows."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from pipelines.errors import AnotherWriter
from pipelines.io.storage.locks import Lock, holder
from pipelines.state.writer_lease import locked

T = TypeVar("T")
DELEGATION = "_errand.lock"
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
"""How long a command waits for another one, or for the live job's batch."""


@contextmanager
def deleting_files(lake_root: str, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Keeps others from deleting files of the tables of a lake, or of their folders. The live job does neither to an
    append-only table, and goes on.

    Raises `AnotherWriter` when another command deletes files for longer than that.
    """
    with closing(patiently(lambda: _file_deletion(lake_root), patience_seconds)):
        yield


def _file_deletion(lake_root: str) -> Lock:
    lock = locked(lake_root, "_files.lock", f"takes files out of the tables of {lake_root}. Wait for it.")
    try:
        raise_if_delegated(lake_root)
    except AnotherWriter:
        lock.close()
        raise
    return lock


@contextmanager
def correcting(lake_root: str) -> Iterator[None]:
    """Keeps others from correcting rows of the live tables meanwhile. A re-drive and a rollback make tables of those
    that are live when they begin, which later take the place of what is live then. The live job is not concerned: what
    it adds comes to both.

    Raises `AnotherWriter` when another command corrects rows.
    """
    refusal = f"already corrects rows of the lake {lake_root}. Wait for it."
    with closing(locked(lake_root, "_correction.lock", refusal)):
        yield


@contextmanager
def delegated(lake_root: str) -> Iterator[None]:
    """Held by the live job while it does the work of a command. The command keeps others from the files of the tables
    and from its replay until it dies; from here on this lock does, whatever becomes of the command.
    """
    with closing(locked(lake_root, DELEGATION, "already does the work of a command.")):
        yield


def raise_if_delegated(lake_root: str) -> None:
    """Raises `AnotherWriter` while the live job does the work of a command, which may have died meanwhile."""
    if other := holder(lake_root, DELEGATION):
        raise AnotherWriter(f"The live job, {other}, is still busy with a promotion. Wait for it.")


def patiently(take: Callable[[], T], patience_seconds: float) -> T:
    """What it takes, as soon as nobody else has it. Raises `AnotherWriter` when that lasts for longer."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return take()
        except AnotherWriter:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
