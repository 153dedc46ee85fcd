"""Pid files that cannot lie: the process named in one holds a lock on it for as long as it lives.

A pid alone may belong to anybody by the time it is read. The kernel drops the lock when the process ends, however it
ends, and keeps it across exec, so it also guards a program that knows nothing of it (Java, supervisord).

    python -m pipelines.processes.pid_lock PID_FILE COMMAND...    becomes COMMAND, holding the lock
"""

import fcntl
import os
import sys
import time
from pathlib import Path

PATIENCE_SECONDS = 1.0
"""A reader holds the lock for an instant, too; a start that meets one waits this long."""


def guarded(pid_file: Path, command: list[str]) -> list[str]:
    """The command line that runs `command` as the holder of the pid file."""
    return [sys.executable, "-P", "-m", "pipelines.processes.pid_lock", str(pid_file), *command]


def holder(pid_file: Path) -> int | None:
    """The pid of the living process that holds the file; None when there is none, whatever the file says."""
    pid, _ = holder_and_note(pid_file)
    return pid


def holder_and_note(pid_file: Path) -> tuple[int | None, str]:
    """The pid of the living holder, None without one, and its note: what follows the pid after a space."""
    try:
        file = pid_file.open(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None, ""
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, note = file.read().partition(" ")
            return int(pid or 0) or None, note
    return None, ""


def lock(pid_file: Path, note: str = "", mode: int = 0o666, patience_seconds: float = PATIENCE_SECONDS) -> int:
    """Makes this process the holder until the handle that is returned is closed, also that of a child.

    Args:
        pid_file: Gets the pid.
        note: What follows it.
        mode: Permissions of a new file, but for those that the umask takes.
        patience_seconds: For how long it tries.

    Raises `BlockingIOError` when another process is the holder.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        handle = os.open(pid_file, os.O_RDWR | os.O_CREAT, mode)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, pid_file):
                break
            os.close(handle)  # it was removed since it was opened
        except BlockingIOError:
            os.close(handle)
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()} {note}".strip().encode())
    return handle


def remove(pid_file: Path) -> None:
    """Takes the file away, if there is one, and nobody holds it. Who is about to hold it makes a new one."""
    try:
        handle = os.open(pid_file, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(handle, pid_file):  # and stays there: to remove it takes this lock
            pid_file.unlink()
    except BlockingIOError:
        return
    finally:
        os.close(handle)


def _is_at(handle: int, pid_file: Path) -> bool:
    """Whether an open file is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(handle), pid_file.stat())
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    _pid_file, *_command = sys.argv[1:]
    try:
        os.set_inheritable(lock(Path(_pid_file), mode=0o600), True)
    except BlockingIOError:
        sys.exit(f"pts: {Path(_pid_file).stem} already runs as process {holder(Path(_pid_file))}. `pts down` stops it.")
    os.execv(_command[0], _command)
