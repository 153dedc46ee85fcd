"""A thread of Java's, beside its first, finds no memory. Run as a program, in a Java with a heap of 1 GiB."""

import sys
import threading

from pipelines.java_process import exit_code
from pipelines.session import open_session
from pipelines.settings import Settings, Spark

LONGS = 2**28
"""Two GiB."""


def ask_for_too_much() -> None:
    """Says with which code Java has ended."""
    spark = open_session(Settings(spark=Spark(driver_memory_mb=1024)))
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    threading.Thread(target=gateway.new_array, args=(gateway.jvm.long, LONGS)).start()
    sys.stdout.write(f"ended with {exit_code(patience_seconds=60)}\n")


if __name__ == "__main__":
    ask_for_too_much()
