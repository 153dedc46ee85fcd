"""Commands that do not outlive those who started them, and never run twice side by side.

    python -m pipelines.processes.parent_death PID_FILE PARENT COMMAND...

becomes COMMAND, holding the pid file. When PARENT ends, however it ends, the kernel sends SIGTERM (on Linux; elsewhere
nothing does). A former holder of the pid file, left behind all the same, is ended first, with all of its group.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from pipelines.errors import warn
from pipelines.processes.pid_lock import guarded, holder

PATIENCE_SECONDS = 60.0
"""For what a command does about SIGTERM: the longest end at a batch boundary, or give up within a batch after 20 s."""

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h. It is kept across exec."""


def ended_with_parent(pid_file: Path, command: list[str]) -> list[str]:
    """The command line that runs `command` and ends it with this process. To be started in a session of its own."""
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    module = "pipelines.processes.parent_death"
    return [sys.executable, "-P", "-m", module, str(pid_file), str(os.getpid()), *command]


def end_with_parent() -> None:
    """Has the kernel send SIGTERM to this process when its parent ends, however that ends; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_holder(pid_file: Path, patience_seconds: float = PATIENCE_SECONDS) -> int | None:
    """Ends the process that holds the file, if there is one, and what is left of the group that it leads: its JVM.

    Returns its pid. Raises `TimeoutError` when not even SIGKILL ends it, as while a disk does not answer.
    """
    if (found := holder(pid_file)) is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(found, signal.SIGTERM)
        _wait_until_free(pid_file, patience_seconds)
    _kill_group(found, pid_file)
    return found


def end_remains(pid_file: Path) -> None:
    """Ends what a process started that held the file and is gone: its forks hold the file in its name.

    Raises `TimeoutError` as `end_holder` does.
    """
    if (found := holder(pid_file)) is None:
        return
    try:
        os.kill(found, 0)
    except ProcessLookupError:
        _kill_group(found, pid_file)


def _kill_group(leader: int, pid_file: Path) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    if not _wait_until_free(pid_file, PATIENCE_SECONDS):
        raise TimeoutError(f"What process {leader} started cannot be ended.")


def _wait_until_free(pid_file: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while holder(pid_file) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


if __name__ == "__main__":
    _pid_file, _parent, *_command = sys.argv[1:]
    end_with_parent()
    if os.getppid() != int(_parent):  # it was faster
        sys.exit("pts: Whoever started this command is gone.")
    if _survivor := end_holder(Path(_pid_file)):
        warn(f"ended process {_survivor}, which an earlier try had left behind.")
    _line = guarded(Path(_pid_file), _command)
    os.execv(_line[0], _line)
