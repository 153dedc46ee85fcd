"""A job that has nothing to do rests, and reads what comes then."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.live.live_job import TOPIC_NAMES, LiveJob, is_in_batch
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.waiting import becomes


def test_query_rests_in_a_quiet_log_and_then_reads_what_comes(spark: SparkSession, new_log: Settings) -> None:
    stop, runner = threading.Event(), live_runner(spark, new_log)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(LiveJob(runner, new_log, stop=stop).run, commands.Stream())
        try:
            assert becomes(lambda: rests(spark) or job.done(), 60)
            assert becomes(lambda: looks(spark) or job.done(), 60)
            simulate.run(commands.Simulate(seed=3, packages=20, rate=0), new_log)
            ends = end_offsets(Connection.of(new_log), TOPIC_NAMES)
            assert becomes(lambda: (runner.last is not None and runner.last.end_offsets == ends) or job.done(), 60)
        finally:
            stop.set()
        job.result()
    assert runner.last is not None
    assert runner.last.end_offsets == ends


def looks(spark: SparkSession) -> bool:
    """Whether a streaming query is at work, and in no batch."""
    statuses = [query.status for query in spark.streams.active]
    return any(status["isTriggerActive"] and not is_in_batch(status) for status in statuses)


def rests(spark: SparkSession) -> bool:
    """Whether a streaming query sleeps within its source."""
    assert spark._jvm is not None
    threads = spark._jvm.java.lang.Thread.getAllStackTraces()

    def calls(frame: Any) -> str:
        return f"{frame.getClassName().rpartition('.')[2]}.{frame.getMethodName()}"

    return any(
        {"QuietKafkaStream.latestOffset", "Thread.sleep"} <= {calls(frame) for frame in threads[thread]}
        for thread in threads
        if thread.getName().startswith("stream execution thread")
    )
