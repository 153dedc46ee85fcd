"""One live job per lake."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.errors import AnotherWriter, LakeUnavailable


@contextmanager
def live_lock(lake_root: str) -> Iterator[None]:
    """Holds the lake for one live job; the lock goes with the process, however it ends.

    On a lake that is a folder, a second job is refused here. On any lake, two jobs share one checkpoint: the second to
    plan a batch fails on Spark's offset log, and Delta takes each write of a batch once. So this lock is courtesy, not
    the guarantee.

    Raises:
        AnotherWriter: A live job holds the lake.
        LakeUnavailable: The folder cannot be created or written.
    """
    if "://" in lake_root:
        yield
        return
    path = Path(lake_root) / "_live.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise LakeUnavailable(
            f"The lake {lake_root} cannot be written: {error.strerror}. Check PTS_LAKE and its permissions."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise AnotherWriter(
                f"Process {file.read().strip() or 'unknown'} already writes the lake {lake_root}. Stop it first, "
                "or use another PTS_LAKE."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
