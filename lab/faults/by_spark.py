"""Runs a module in which Spark plans and writes each batch as if it had many rows: `python -m lab.faults.by_spark
tests.saboteur 3+20 stream`.

Batches of a case are small, and few rows are written without Spark: the other way would never meet a fault.
"""

import runpy
import sys

from pipelines import session
from pipelines.io.delta import lake

if __name__ == "__main__":
    session.UNFUSED_ROWS = lake.FEW_ROWS = 0
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
