"""What producers take back in a transaction is no record, wherever it is looked for."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import health, verify
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.admin import end_offsets, records_between
from pipelines.io.kafka.connection import Connection
from pipelines.settings import Settings
from tests.brokers import drain, empty_log
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import INPUTS, read_log
from tests.oracle.makers import route, scan
from tests.oracle.records import LogRecord

EVENTS = "ship-events"


@pytest.fixture(scope="module")
def settings(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with empty_log(broker, tmp_path_factory.mktemp("transactions"), partitions=1) as made:
        yield made


def begun(settings: Settings, name: str) -> Producer:
    """A producer within a transaction."""
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def send(producer: Producer, *records: LogRecord) -> None:
    for record in records:
        producer.produce(record.topic, record.value, record.key, timestamp=record.timestamp_ms)
    assert producer.flush(30) == 0


def scans(settings: Settings) -> set[tuple[int, int]]:
    rows = LakeReader(settings.lake_root).query("SELECT tracking_number, current_stop_id FROM silver.ship_events")
    return {(row["tracking_number"], row["current_stop_id"]) for row in rows.to_pylist()}


def test_aborted_records_are_none_and_open_ones_are_none_yet(spark: SparkSession, settings: Settings) -> None:
    plain = Producer({"bootstrap.servers": settings.bootstrap_servers})
    aborted, committed = begun(settings, "aborted"), begun(settings, "committed")
    send(aborted, scan(1, stop=9, offset=0), route(1, end=99, offset=0))
    send(plain, scan(1, stop=1, offset=0), route(1, end=10, offset=0))
    send(committed, scan(2, stop=2, offset=0))
    send(aborted, scan(1, stop=8, offset=0), LogRecord(EVENTS, 0, 0, 0, b"7", b"\xff"))
    aborted.abort_transaction(30)
    committed.commit_transaction(30)
    left_open = begun(settings, "open")
    send(left_open, scan(3, stop=3, offset=0), route(3, end=30, offset=0))
    send(plain, scan(4, stop=4, offset=0))

    drain(spark, settings)

    assert scans(settings) == {(1, 1), (2, 2)}
    log = read_log(settings.bootstrap_servers)
    assert {record.key for record in log} == {b"1", b"2"}, "an independent reader sees the same"
    assert_lake_equals_log(settings.lake_root, log)
    (events, routes) = verify.run(commands.Verify(), settings).topics
    assert (events.read_count, events.gap_count) == (2, 5), "three aborted records, two markers"
    assert (routes.read_count, routes.gap_count) == (1, 2)
    behind = health.reached(LakeReader(settings.lake_root)), end_offsets(Connection(settings.bootstrap_servers), INPUTS)
    assert records_between(*behind) == 0, "what is open is not behind"

    left_open.commit_transaction(30)
    drain(spark, settings)
    assert scans(settings) == {(1, 1), (2, 2), (3, 3), (4, 4)}
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))


def test_log_may_end_with_what_was_taken_back(spark: SparkSession, settings: Settings) -> None:
    before = end_offsets(Connection(settings.bootstrap_servers), [EVENTS])[EVENTS][0]
    for _ in range(2):
        producer = begun(settings, "last")
        send(producer, scan(5, stop=5, offset=0), scan(6, stop=6, offset=0), scan(7, stop=7, offset=0))
        producer.abort_transaction(30)
        drain(spark, settings)
    assert end_offsets(Connection(settings.bootstrap_servers), [EVENTS])[EVENTS][0] == before + 8
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))
    drain(spark, settings)
    assert verify.run(commands.Verify(), settings).topics[0].read_count == 4
