"""A task's worker that is killed, as Airflow's may be: `python -m lab.faults.worker PID_FILE 3 backfill ...`.

It runs a command of ours with a parent-death signal, as `dags/pts_operator.py` does. After that many moments of the
command the worker is killed, and the command works on all the same, as where the kernel tells no process of its
parent's end. With 0 nobody is killed.
"""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.cli import main as cli
from pipelines.processes.parent_death import PR_SET_PDEATHSIG, ended_with_parent
from tests.saboteur import STEPS, Saboteur


def main() -> None:
    pid_file, *command = sys.argv[1:]
    line = [sys.executable, "-c", f"from {__spec__.name} import outlive; outlive()", *command]
    sys.exit(subprocess.run(ended_with_parent(Path(pid_file), line), start_new_session=True, check=False).returncode)


def outlive() -> None:
    """The command."""
    worker, moment = os.getppid(), int(sys.argv.pop(1))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, 0)
    Saboteur(pytest.MonkeyPatch(), *STEPS, end=lambda: os.kill(worker, signal.SIGKILL), limit=moment, also_before=True)
    cli.main()


if __name__ == "__main__":
    main()
