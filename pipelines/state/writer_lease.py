"""The writer lease of a lake: one process writes the tables, the live job or a command in its place."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipelines.code_version import fingerprint
from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.io.delta.lake import Lake
from pipelines.io.storage import locks
from pipelines.io.storage.locks import Holder, Lock
from pipelines.tables import OPS_BATCHES, TABLES

LEASE = "_live.lock"


class WriterLease:
    """The right to write a lake; goes with the process, however it ends, in an object store after some seconds.

    It is no guarantee where a process may be frozen while it has the lease: there, in a store, that is the term that
    begins with it (`io/delta/writer_term.py`).
    """

    def __init__(self, lake_root: str) -> None:
        self.lake_root = lake_root
        self._lock: Lock | None = None

    def acquire(self) -> None:
        """Raises `AnotherWriter` when somebody else has it, `LakeUnavailable` when the lake cannot be written, and
        `LakeMismatch` when the log of one of its tables cannot be read.
        """
        refusal = f"already writes the lake {self.lake_root}. Stop it first, or use another PTS_LAKE."
        self._lock = locked(self.lake_root, LEASE, refusal, note=fingerprint())
        try:
            Lake(None, self.lake_root).begin_term((*TABLES, OPS_BATCHES))
            self.check()  # of who was frozen before its term began, another's may have the same number
        except BaseException:
            self.release()
            raise

    def check(self) -> None:
        """Raises `AnotherWriter` when another one may have it meanwhile: this process could not renew it in time."""
        if self._is_lost:
            raise self._lost(writer(self.lake_root))

    @property
    def _is_lost(self) -> bool:
        lock = self._lock  # another thread may give it back meanwhile
        return lock is not None and lock.is_lost

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """What fails in the block while another process has the lease, fails as `AnotherWriter`: of a process that was
        frozen, connections are gone, too, and that is what it notices first.
        """
        try:
            yield
        except AnotherWriter:
            raise
        except Exception as error:
            other = None
            with suppress(OSError):  # who cannot ask does not know
                other = writer(self.lake_root) if self._is_lost else None
            if other and not other.is_me:
                raise self._lost(other) from error
            raise

    def _lost(self, other: Holder | None) -> AnotherWriter:
        return AnotherWriter(
            f"The lease of the lake {self.lake_root} was not renewed in time, and may be another's: "
            f"{other or 'Another process'} has it. This process changes nothing more. Start it again where no other "
            "runs."
        )

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock:
            lock.close()


def writer(lake_root: str) -> Holder | None:
    """Who holds the lease; None when nobody does."""
    return locks.holder(lake_root, LEASE)


def writer_code(lake_root: str) -> str | None:
    """Fingerprint of the code of the process that holds the lease; None when nobody does."""
    holder = writer(lake_root)
    return holder.note if holder else None


def locked(lake_root: str, name: str, refusal: str, note: str = "") -> Lock:
    """The lock of that name in the lake, held by this process until it is closed, with a note for others.

    Raises `AnotherWriter` when another process has it, `LakeUnavailable` when the lake cannot be written.
    """
    try:
        return locks.locked(lake_root, name, note)
    except BlockingIOError as error:
        raise refused(locks.holder(lake_root, name), refusal) from error
    except OSError as error:
        raise LakeUnavailable(
            f"The lake {lake_root} cannot be written: {error.strerror}. Check PTS_LAKE and its permissions."
        ) from error


def refused(holder: Holder | None, refusal: str) -> AnotherWriter:
    """The error that says who has what is asked for."""
    other = str(holder or "process unknown")
    return AnotherWriter(f"{other[0].upper()}{other[1:]} {refusal}")
