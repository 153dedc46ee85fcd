"""Starts the Python processes of Spark's tasks, with what they need loaded once, before they are forked.

Spark starts it in place of its own (`spark.python.daemon.module`), which would leave each of them to load it again.
"""

import os

from pyspark.daemon import manager

import pipelines.engine.record_tasks  # noqa: F401
from pipelines.settings import load_settings

if __name__ == "__main__":
    os.umask(int(load_settings().umask, 8))  # on another machine, a worker's own would count
    manager()
