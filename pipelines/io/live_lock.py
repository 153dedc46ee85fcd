"""One writer per lake; a live job lends the lake, between two batches, to a command that asks for it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.io import pid_lock
from pipelines.io.fingerprint import fingerprint
from pipelines.io.pid_lock import holder

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
"""How long the live job may take for its batch."""


class LiveLock:
    """Holds the lake; goes with the process, however it ends.

    On a lake that is a folder, a second writer is refused here. On any lake, two jobs share one checkpoint: the second
    to plan a batch fails on Spark's offset log, and Delta takes each write of a batch once. So this lock is courtesy,
    not the guarantee.
    """

    def __init__(self, lake_root: str) -> None:
        self._root = lake_root
        self._file: TextIOWrapper | None = None
        self._is_folder = "://" not in lake_root

    def acquire(self) -> None:
        """Raises `AnotherWriter` when somebody else has it, `LakeUnavailable` when the folder cannot be written."""
        if self._is_folder:
            self._file = locked(
                lock_file(self._root),
                f"already writes the lake {self._root}. Stop it first, or use another PTS_LAKE.",
                note=fingerprint(),
            )

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    @property
    def is_asked_for(self) -> bool:
        """Whether a command waits for the lake."""
        return self._is_folder and holder(request_file(self._root)) is not None

    def lend(self) -> None:
        """Gives the lake to those who ask, and returns when it is back. Raises `AnotherWriter` as `acquire` does."""
        self.release()
        while True:
            while self.is_asked_for:
                time.sleep(POLL_SECONDS)
            try:
                return self.acquire()
            except AnotherWriter:
                if not self.is_asked_for:
                    raise


@contextmanager
def live_lock(lake_root: str) -> Iterator[LiveLock]:
    """Holds the lake. Raises as `LiveLock.acquire`."""
    lock = LiveLock(lake_root)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


@contextmanager
def borrowed(lake_root: str, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Holds the lake; a live job that has it lends it at the end of its batch, when all tables stand there. At a URI,
    nobody is asked, as `LiveLock` says.

    Raises `AnotherWriter` when another command asks for it, too, or when nobody lends it within that time.
    """
    if "://" in lake_root:
        yield
        return
    asking = locked(request_file(lake_root), f"already waits for the lake {lake_root}, or has it. Wait for it.")
    with asking:
        lock, deadline = LiveLock(lake_root), time.monotonic() + patience_seconds
        while True:
            try:
                lock.acquire()
                break
            except AnotherWriter:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()


def live_code(lake_root: str) -> str | None:
    """Fingerprint of the code of the process that holds the lake; None when nobody does."""
    path = lock_file(lake_root)
    return path.read_text().partition(" ")[2] if holder(path) else None


def lock_file(lake_root: str) -> Path:
    """Of a lake that is a folder. `holder` tells who has it."""
    return Path(lake_root) / "_live.lock"


def request_file(lake_root: str) -> Path:
    """The same for those who ask for the lake."""
    return Path(lake_root) / "_request.lock"


def locked(path: Path, refusal: str, note: str = "") -> TextIOWrapper:
    """The file, locked by this process until it is closed, with the process' number and a note in it.

    Raises `AnotherWriter` when another process has it, `LakeUnavailable` when the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(pid_lock.lock(path, note))
    except BlockingIOError as error:
        raise AnotherWriter(f"Process {holder(path) or 'unknown'} {refusal}") from error
    except OSError as error:
        raise LakeUnavailable(
            f"The lake {path.parent} cannot be written: {error.strerror}. Check PTS_LAKE and its permissions."
        ) from error
