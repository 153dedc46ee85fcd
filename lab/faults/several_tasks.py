"""Runs a module in which each batch is run as if it had many rows, in several tasks:

    python -m lab.faults.several_tasks tests.saboteur 3+20 stream

Batches of a case are small, and few rows go through one task: several would never meet a fault.
"""

import runpy
import sys

from pipelines import session

if __name__ == "__main__":
    session.UNFUSED_ROWS = 0
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
