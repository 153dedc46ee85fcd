"""Runs a Python module as a user whom permissions of files bind: `python -m lab.faults.obeying pipelines.cli stream`.

Nobody but root is above them; root gives up the two capabilities that put it there, which takes Linux and a
new program.
"""

import ctypes
import os
import sys

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
"""Numbers of prctl(2) and capabilities(7)."""

CAN_OBEY = os.geteuid() != 0 or sys.platform.startswith("linux")


def main() -> None:
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), f"capability {capability} cannot be given up")
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])


if __name__ == "__main__":
    main()
