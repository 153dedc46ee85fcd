"""Runs a module in which a small lake is worked on as a large one is: each batch in several tasks, and the report table
deferred:

    python -m lab.faults.as_large tests.saboteur 3+20 stream

Batches of a case are small, and few records are read by one task: several would never meet a fault.
"""

import runpy
import sys

from pipelines.engine import schedule
from pipelines.io.kafka import log

if __name__ == "__main__":
    log.FEW_RECORDS = 0
    schedule.SMALL_ROWS = schedule.ROWS_FOR_EACH_NEW = 0
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
