"""One writer per lake; a live job lends the lake, between two batches, to a command that asks for it, or does what the
command asks for. And one at a time that takes files away.
"""

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TypeVar

from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.io.processes import pid_lock
from pipelines.io.processes.atomic_file import write_whole
from pipelines.io.processes.pid_lock import holder
from pipelines.state.code_version import fingerprint

T = TypeVar("T")
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
"""How long the live job may take for its batch."""

TOLD_SECONDS = 60.0
"""How often a live job says that it still waits for the lake."""


@dataclass(frozen=True)
class Request:
    """What a command that waits for the lake wants.

    Attributes:
        request_id: Tells it from every other request.
        errand: What the live job is to do; empty when the command wants the lake itself.
    """

    request_id: str
    errand: str


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
    def request(self) -> Request | None:
        """Of the command that waits; None when none does, or when it has its answer."""
        note = _note(request_file(self._root)) if self._is_folder else None
        request = Request(note.partition(" ")[0], note.partition(" ")[2]) if note else None
        return request if request and _answer(self._root, request) is None else None

    def answer(self, request: Request, words: str) -> None:
        """Tells the command what came of its errand."""
        write_whole(_answer_file(self._root), f"{request.request_id} {words}")

    @contextmanager
    def errand(self, request: Request) -> Iterator[bool]:
        """Does the work of a command under a lock of its own; tells whether the command still waits.

        The command keeps others from the files of the tables and from its replay, until it dies. From here on the
        errand does (`files_held`, `insist_on_no_errand`), whatever becomes of the command.
        """
        with locked(_errand_file(self._root), "is on an errand already."):
            yield self.request == request

    def lend(self, stop: threading.Event) -> bool:
        """Gives the lake to those who ask, and returns when it is back; or, without it, once `stop` is set: a command
        that is frozen would not give it back. Tells whether it is back. Raises `AnotherWriter` as `acquire` does.
        """
        self.release()
        began = told = time.monotonic()
        while not stop.is_set():
            try:
                if not self.request:
                    self.acquire()
                    return True
            except AnotherWriter:
                if not self.request:
                    raise
            stop.wait(POLL_SECONDS)
            if (now := time.monotonic()) - told >= TOLD_SECONDS:
                told = now
                process = f"process {holder(request_file(self._root)) or 'unknown'}"
                since = f"it has had the lake for {now - began:.0f} s"
                sys.stderr.write(f"pts: warning: The job waits for {process}: {since}.\n")
        return False


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
def borrowed(lake_root: str, errand: str = "", patience_seconds: float = PATIENCE_SECONDS) -> Iterator[str | None]:
    """Holds the lake, and yields None; a live job that has it lends it at the end of its batch, when all tables stand
    there. A job that knows the errand does that instead and keeps the lake; what it answers is yielded. At a URI,
    nobody is asked, as `LiveLock` says.

    Raises `AnotherWriter` when another command asks for it, too, or when the live job does neither within that time.
    """
    if "://" in lake_root:
        yield None
        return
    request = Request(uuid.uuid4().hex, errand)
    refusal = f"already waits for the lake {lake_root}, or has it. Wait for it."
    if other := holder(request_file(lake_root)):
        raise AnotherWriter(f"Process {other} {refusal}")
    # First the files: while a compaction is waited for, the live job is not asked yet, and goes on.
    with files_held(lake_root), locked(request_file(lake_root), refusal, note=f"{request.request_id} {errand}"):
        lock = LiveLock(lake_root)
        try:
            yield _patiently(lambda: _lent_or_answered(lock, lake_root, request), patience_seconds)
        finally:
            lock.release()


def _lent_or_answered(lock: LiveLock, lake_root: str, request: Request) -> str | None:
    """None once the lock is held, the answer once there is one. Raises `AnotherWriter` when there is neither yet."""
    if (words := _answer(lake_root, request)) is None:
        lock.acquire()
        if (words := _answer(lake_root, request)) is not None:  # of a job that has ended since
            lock.release()
    return words


@contextmanager
def files_held(lake_root: str, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Keeps others from taking files out of the tables of a lake in a folder, or out of their folders. The live job
    does neither to an append-only table, and goes on.

    Raises `AnotherWriter` when another command holds them for longer than that.
    """
    with _patiently(lambda: _files_taken(lake_root), patience_seconds):
        yield


@contextmanager
def correcting(lake_root: str) -> Iterator[None]:
    """Keeps others from correcting rows of the live tables meanwhile. A re-drive and a rollback make tables of those
    that are live when they begin, which later take the place of what is live then. The live job is not concerned: what
    it adds comes to both.

    Raises `AnotherWriter` when another command corrects rows.
    """
    if "://" in lake_root:
        yield
        return
    with locked(Path(lake_root) / "_correction.lock", f"already corrects rows of the lake {lake_root}. Wait for it."):
        yield


def _files_taken(lake_root: str) -> TextIOWrapper:
    file = locked(Path(lake_root) / "_files.lock", f"takes files out of the tables of {lake_root}. Wait for it.")
    try:
        insist_on_no_errand(lake_root)
    except AnotherWriter:
        file.close()
        raise
    return file


def insist_on_no_errand(lake_root: str) -> None:
    """Raises `AnotherWriter` while the live job does the work of a command, which may have died meanwhile."""
    if other := holder(_errand_file(lake_root)):
        raise AnotherWriter(f"Process {other}, the live job, is still busy with a promotion. Wait for it.")


def _patiently(take: Callable[[], T], patience_seconds: float) -> T:
    """What it takes, as soon as nobody else has it. Raises `AnotherWriter` when that lasts for longer."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return take()
        except AnotherWriter:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def live_code(lake_root: str) -> str | None:
    """Fingerprint of the code of the process that holds the lake; None when nobody does."""
    return _note(lock_file(lake_root))


def _note(path: Path) -> str | None:
    """What the holder of a lock says beside its pid; None when there is no holder, or it has not said it yet."""
    found = holder(path)
    pid, _, note = path.read_text(encoding="utf-8").partition(" ") if found else ("", "", "")
    # For an instant, a new holder's file still has the words of the last one, who may have died with them.
    return note if found and pid == str(found) and _is_alive(found) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _errand_file(lake_root: str) -> Path:
    return Path(lake_root) / "_errand.lock"


def _answer_file(lake_root: str) -> Path:
    return Path(lake_root) / "_request.answer"


def _answer(lake_root: str, request: Request) -> str | None:
    try:
        request_id, _, words = _answer_file(lake_root).read_text(encoding="utf-8").partition(" ")
    except FileNotFoundError:
        return None
    return words if request_id == request.request_id else None


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
        return os.fdopen(pid_lock.lock(path, note), encoding="utf-8")
    except BlockingIOError as error:
        raise AnotherWriter(f"Process {holder(path) or 'unknown'} {refusal}") from error
    except OSError as error:
        raise LakeUnavailable(
            f"The lake {path.parent} cannot be written: {error.strerror}. Check PTS_LAKE and its permissions."
        ) from error
