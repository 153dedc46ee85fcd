"""The writer lease of a lake: one process writes the tables, the live job or a command in its place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from pipelines.code_version import fingerprint
from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.io.processes import pid_lock
from pipelines.io.processes.pid_lock import holder


class WriterLease:
    """The right to write a lake; goes with the process, however it ends.

    On a lake that is a folder, a second writer is refused here. On any lake, two jobs share one checkpoint: the second
    to plan a batch fails on Spark's offset log, and Delta takes each write of a batch once. So this lease is courtesy,
    not the guarantee.
    """

    def __init__(self, lake_root: str) -> None:
        self.lake_root = lake_root
        self._file: TextIOWrapper | None = None

    def acquire(self) -> None:
        """Raises `AnotherWriter` when somebody else has it, `LakeUnavailable` when the folder cannot be written."""
        if "://" not in self.lake_root:
            self._file = locked(
                lease_file(self.lake_root),
                f"already writes the lake {self.lake_root}. Stop it first, or use another PTS_LAKE.",
                note=fingerprint(),
            )

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


@contextmanager
def writer_lease(lake_root: str) -> Iterator[WriterLease]:
    """Holds the lease. Raises as `WriterLease.acquire`."""
    lease = WriterLease(lake_root)
    lease.acquire()
    try:
        yield lease
    finally:
        lease.release()


def writer_code(lake_root: str) -> str | None:
    """Fingerprint of the code of the process that holds the lease; None when nobody does."""
    return note_of(lease_file(lake_root))


def lease_file(lake_root: str) -> Path:
    """The file that the writer of a lake in a folder locks; `holder` gives its process."""
    return Path(lake_root) / "_live.lock"


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


def note_of(path: Path) -> str | None:
    """What the holder of a lock says beside its pid; None when there is no holder, or it has not said it yet."""
    found = holder(path)
    pid, _, note = path.read_text(encoding="utf-8").partition(" ") if found else ("", "", "")
    # For an instant, a new holder's file still has the note of the last one, who may have died with it there.
    return note if found and pid == str(found) and _is_alive(found) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
