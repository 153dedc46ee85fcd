"""Times that producers got wrong, in every unit: read, judged, stored and shown."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import verify
from pipelines.contracts.rules import Reason
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import SAME_CALENDAR_MS, KafkaLog, OffsetRange
from pipelines.queries import quarantine
from pipelines.queries.explain import explanation
from pipelines.settings import Settings
from pipelines.values import iso_utc, rows_of
from tests.brokers import drain, empty_log, take_any_time
from tests.comparison import archived, assert_lake_equals_log, in_micros
from tests.frames import in_order
from tests.integration.log_reader import read_log
from tests.oracle.makers import at, route, scan
from tests.oracle.records import LogRecord

MILLIS = at("10:00") // 1_000
UNITS = {"seconds": MILLIS // 1_000, "micros": MILLIS * 1_000, "nanos": MILLIS * 1_000_000}
UNCOUNTED_MS = (1 << 63) // 1000
"""From here on, a time in microseconds has more than 64 bits."""

EDGES = (0, 1, 253_402_300_799_998, 253_402_300_799_999, (1 << 63) // 1_000 - 1, (1 << 63) // 1_000, (1 << 63) - 1)
MONTH = 30 * 86_400_000
BEFORE_ALL = (
    *(-1, SAME_CALENDAR_MS, SAME_CALENDAR_MS - 1, SAME_CALENDAR_MS - MONTH, -30_604_780_800_000),
    *(-62_135_596_799_999, -62_135_596_800_000, -62_135_596_800_001, -(1 << 63) // 1_000, -(1 << 63)),
)
"""Of those before `SAME_CALENDAR_MS`, Spark's source tells another day; of the last two, none. No index of a broker
finds them: a batch is read once more."""


@pytest.fixture(scope="module")
def settings(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Topics that take any time, as those of older clusters do."""
    with empty_log(broker, tmp_path_factory.mktemp("times"), partitions=2) as made:
        take_any_time(broker)
        yield made


def send(settings: Settings, *records: LogRecord) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers})
    for record in records:
        producer.produce(
            record.topic, record.value, record.key, timestamp=record.timestamp_ms, headers={"trace": b"\xff"}
        )
    assert producer.flush(30) == 0


def told_at(record: LogRecord, milliseconds: int) -> LogRecord:
    return LogRecord(record.topic, record.partition, 0, milliseconds, record.key, record.value)


def test_no_time_of_a_record_stops_the_job_or_blinds_a_reader(spark: SparkSession, settings: Settings) -> None:
    send(settings, scan(1, stop=3, offset=0), route(1, end=10, offset=0))
    for times in (BEFORE_ALL, (*UNITS.values(), *EDGES)):
        for milliseconds in times:
            send(
                settings,
                told_at(scan(1, stop=9, offset=0), milliseconds),
                told_at(route(1, end=99, offset=0), milliseconds),
            )
        send(settings, scan(1, "10:30", stop=4, offset=0))
        drain(spark, settings)

    log = read_log(settings.bootstrap_servers)
    assert max(record.timestamp_ms for record in log) == EDGES[-1]
    assert_lake_equals_log(settings.lake_root, log)
    verify.run(commands.Verify(), settings)
    report = explanation(1, settings).package.report
    assert report
    assert (report["current_stop_id"], report["end_stop_id"]) == (4, 99), "a time at the end of the year 9999 is one"
    rejected = {(row["kafka_topic"], row["reason"]): row["record_count"] for row in quarantine.listed(settings)}
    assert rejected["ship-events", "bad_timestamp"] == 10
    assert rejected["ship-routes", "bad_timestamp"] == 10
    shown = quarantine.shown(commands.QuarantineShow(reason=Reason.BAD_TIMESTAMP, limit=99), settings)
    assert {row["detail"] for row in shown} == {
        "the record's timestamp is before the year 1",
        "the record's timestamp is after the year 9999: milliseconds are expected",
    }
    assert max(row["kafka_timestamp"] for row in shown) == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)

    drain(spark, settings)
    send(settings, scan(2, stop=1, offset=0), told_at(scan(2, stop=2, offset=0), UNITS["nanos"]))
    drain(spark, settings)
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))


def test_both_readers_of_the_log_give_the_same_records(spark: SparkSession, settings: Settings) -> None:
    send(settings, scan(1, "10:40", stop=5, offset=0))
    log = [record for record in read_log(settings.bootstrap_servers) if record.topic == "ship-events"]
    ends = {record.partition: record.offset + 1 for record in sorted(log, key=lambda record: record.offset)}
    kafka = KafkaLog(spark, Connection(settings.bootstrap_servers))
    told = dict.fromkeys(ends, 0)
    for record in log:
        if not SAME_CALENDAR_MS <= record.timestamp_ms < UNCOUNTED_MS:
            told[record.partition] = max(told[record.partition], record.offset + 1)
    for by_spark, starts in ((True, told), (False, dict.fromkeys(ends, 0))):
        ranges = [OffsetRange("ship-events", part, starts[part], end) for part, end in ends.items()]
        found = in_micros(kafka.records("ship-events", ranges, by_spark).toArrow()).to_pylist()
        assert found
        assert in_order(found) == in_order(
            archived(record) for record in log if record.offset >= starts[record.partition]
        )


def test_lake_that_has_such_times_already_is_shown(tmp_path: Path) -> None:
    micros = UNITS["micros"] * 1_000
    rows = {
        "kafka_topic": ["ship-events", "ship-events"], "reason": ["malformed"] * 2, "detail": ["x"] * 2,
        "kafka_timestamp": pa.array([micros, None], pa.timestamp("us", "UTC")),
        "seen": pa.array([[{"at": micros}], []], pa.list_(pa.struct({"at": pa.timestamp("us", "UTC")}))),
    }  # fmt: skip
    write_deltalake(tmp_path / "silver" / "quarantine", pa.table(rows))

    (row,) = quarantine.listed(Settings(lake=str(tmp_path)))
    assert iso_utc(row["last_at"]).startswith("58133-10-29T16:00:00")
    table = LakeReader(str(tmp_path)).query("SELECT kafka_timestamp AS t, seen FROM silver.quarantine ORDER BY t")
    assert [row["t"] for row in rows_of(table)] == [row["last_at"], None]
    assert rows_of(table)[0]["seen"] == [{"at": row["last_at"]}]
