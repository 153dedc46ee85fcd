"""Random logs through the real stream: readers see tables that agree, and in the end what the log says."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import verify
from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import live_runner
from pipelines.settings import Settings, Stream
from pipelines.state.snapshots import Snapshot, snapshot
from tests.brokers import drain, empty_log
from tests.cases import pack_of
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.oracle.records import LogRecord

pytestmark = pytest.mark.long


PACK = pack_of(40)

AGREEMENT = """
    SELECT (SELECT count(*) FROM silver.ship_events) AS scans,
        (SELECT count(DISTINCT tracking_number) FROM (
            SELECT tracking_number FROM silver.ship_events UNION ALL SELECT tracking_number FROM silver.ship_routes
        )) AS packages,
        (SELECT count(*) FROM gold.remaining_stops) AS reports,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.stop_activity) AS in_windows,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.carrier_throughput) AS in_hours,
        (SELECT count(DISTINCT window_start) FROM gold.stop_activity) AS windows,
        (SELECT count(*) FROM gold.busiest_stops WHERE rank = 1) AS boards
"""


@pytest.fixture
def settings(broker: str, tmp_path: Path) -> Iterator[Settings]:
    with empty_log(broker, tmp_path, partitions=2) as made:
        yield made.model_copy(update={"stream": Stream(max_records_per_batch=150, follow_seconds=2)})


def produce(servers: str, records: list[LogRecord]) -> None:
    """Each partition in its order, the partitions one after another in any."""
    producer = Producer({"bootstrap.servers": servers})
    partitions = sorted({(record.topic, record.partition) for record in records})
    random.Random(1).shuffle(partitions)
    for partition in partitions:
        for record in records:
            if (record.topic, record.partition) == partition:
                producer.produce(
                    record.topic, record.value, record.key, record.partition, timestamp=record.timestamp_ms
                )
    producer.flush()


def next_snapshot(root: str, after: int, job: Future[None]) -> Snapshot:
    """The newest consistent batch, once there is one after the given. Raises what ended the job, if something did."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if job.done():
            job.result()
        try:
            found = snapshot(root)
        except NotFound:
            found = None
        if found and found.batch_id > after:
            return found
        time.sleep(0.2)
    raise TimeoutError(f"no consistent batch after {after}")


def test_every_snapshot_agrees_while_the_job_writes_and_the_end_is_what_the_log_says(
    spark: SparkSession, settings: Settings
) -> None:
    root, stop, seen = settings.lake_root, threading.Event(), -1
    parts = [list(batch) for batch in PACK.batches]
    produce(settings.bootstrap_servers, parts[0])
    with ThreadPoolExecutor() as pool:
        job = pool.submit(LiveJob(live_runner(spark, settings), settings, stop=stop).run, commands.Stream())
        try:
            for part in parts[1:]:
                found = next_snapshot(root, seen, job)
                (row,) = LakeReader(root, found.versions, found.batch_id).query(AGREEMENT).to_pylist()
                assert row["in_windows"] == 2 * row["scans"] > 0
                assert row["in_hours"] == row["scans"]
                assert row["reports"] == row["packages"]
                assert row["boards"] == row["windows"]
                seen = found.batch_id
                produce(settings.bootstrap_servers, part)
        finally:
            stop.set()
        job.result()
    drain(spark, settings)
    log = read_log(settings.bootstrap_servers)
    assert len(log) == len(PACK.records)
    assert_lake_equals_log(root, log)
    verified = verify.run(commands.Verify(), settings)
    assert {total.kafka_topic: total.read_count for total in verified.topics} == {
        topic: sum(record.topic == topic for record in log) for topic in ("ship-events", "ship-routes")
    }
