"""Starts the Python processes of Spark's tasks, with what they need loaded once, before they are forked.

Spark starts it in place of its own (`spark.python.daemon.module`), which would leave each of them to load it again.
"""

import gc
import os
import socket

from pyspark import daemon

import pipelines.engine.record_tasks  # noqa: F401
from pipelines.settings import load_settings

_do_task = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Does one task in a process for many, and returns the exit code.

    A task that Spark has given up, and no longer listens to, ends without the traceback that Spark's own would print.
    """
    if not gc.get_freeze_count():
        gc.freeze()  # Spark's looks for garbage after each task, 50 ms long in all that was loaded before
    try:
        return _do_task(sock, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    os.umask(int(load_settings().umask, 8))  # on another machine, a worker's own would count
    daemon.worker = worker
    daemon.manager()
