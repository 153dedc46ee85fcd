"""A micro-batch writes each table once, whatever happens between its writes, and however the log is cut."""

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.contracts.topics import SHIP_ROUTES, Topic
from pipelines.engine import record_tasks
from pipelines.engine.batch import TablePositions
from pipelines.engine.micro_batch import MicroBatch
from pipelines.engine.record_tasks import Written
from pipelines.graph import FLOWS, tables_of
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka import log
from pipelines.io.kafka.log import OffsetRange
from pipelines.state.ledger import Counts, Ledger, LedgerRow
from pipelines.tables import SILVER_QUARANTINE
from tests.batches import WIRES, Crashed, CrashingLake, batches, new_lake, run, tables
from tests.comparison import expected_rows
from tests.memory_log import MemoryLog
from tests.oracle.makers import route, scan, withdrawal
from tests.oracle.records import LogRecord

HEADERS = (("source", b"x"), ("", None), ('nul \0 "and" ü', b"\x00\xff\n"), ("source", b""))

RECORDS = (
    scan(1, "10:00", stop=1, offset=0),
    route(1, 12, offset=0),
    scan(2, "10:01", stop=4, offset=1, partition=1),
    scan(1, "10:00", stop=1, offset=1),
    LogRecord("ship-events", 0, 2, scan(offset=2).timestamp_ms, b"1", b"not a scan", HEADERS),
    scan(1, "10:30", stop=2, offset=3),
    route(2, 9, offset=1, partition=0),
    scan(2, "09:00", stop=1, logged="10:40", offset=2, partition=1),
    scan(1, "10:00", stop=1, logged="10:41", offset=4),
    withdrawal(1, offset=2, logged="10:42"),
    LogRecord("ship-routes", 1, 0, scan(offset=0).timestamp_ms, b"x", None),
)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return new_lake(spark, str(tmp_path / "lake"))


def test_tables_equal_the_oracle_however_the_log_is_cut(spark: SparkSession, lake: Lake) -> None:
    rows, _ = run(lake, spark, RECORDS, batches(RECORDS[:4], RECORDS[4:5], RECORDS[5:]))
    assert tables(lake) == expected_rows(RECORDS)
    assert rows[0].counts == {"ship-events": Counts(3, 2, 1, 0), "ship-routes": Counts(1, 1, 0, 0)}
    assert rows[1].counts == {"ship-events": Counts(1, 0, 0, 1), "ship-routes": Counts(0, 0, 0, 0)}
    assert rows[2].counts == {"ship-events": Counts(3, 2, 1, 0), "ship-routes": Counts(3, 2, 0, 1)}


def test_topic_that_is_late_takes_the_commit_of_the_other_for_no_strangers(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have rows for the quarantine."""
    is_committed, is_judged = threading.Event(), threading.Event()

    def read(batch: MicroBatch, topic: Topic, *flows: Any) -> None:
        if topic == SHIP_ROUTES:
            assert is_committed.wait(60)
        try:
            reads(batch, topic, *flows)
        finally:
            if topic == SHIP_ROUTES:
                is_judged.set()

    def commit(table: Any, path: str, *rest: Any) -> None:
        commits(table, path, *rest)
        if path == lake.path(SILVER_QUARANTINE) and not is_committed.is_set():
            is_committed.set()
            assert is_judged.wait(60)

    reads, commits = MicroBatch._read, delta_rs.commit
    monkeypatch.setattr(MicroBatch, "_read", read)
    monkeypatch.setattr(delta_rs, "commit", commit)
    run(lake, spark, RECORDS, batches(RECORDS))
    assert is_judged.is_set()
    assert tables(lake) == expected_rows(RECORDS)


def test_each_commit_of_a_batch_names_its_row_of_the_ledger(spark: SparkSession, lake: Lake) -> None:
    rows, _ = run(lake, spark, RECORDS[:5], batches(RECORDS[:4], RECORDS[4:5]))
    told = {
        (table.name, commit["version"]): json.loads(commit["userMetadata"])["batch_id"]
        for table in tables_of()
        for commit in DeltaTable(lake.path(table)).history()
    }
    for row in rows:
        written = {(name, state.version) for name, state in row.tables.items() if state.version}
        assert {told[each] for each in written} <= set(range(row.batch_id + 1))
    assert {batch_id for batch_id in told.values() if batch_id is not None} == {0, 1}
    assert told[SILVER_QUARANTINE.name, 1] == 1


def test_rehearsal_judges_all_records_and_keeps_nothing(
    spark: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Written] = []

    def noted(*arguments: Any) -> Written:
        judged.append(write(*arguments))
        return judged[-1]

    write = record_tasks.write
    monkeypatch.setattr(record_tasks, "write", noted)
    (whole,) = batches(RECORDS)
    rehearsal = MicroBatch(whole, TablePositions(), lake, MemoryLog(spark, RECORDS), WIRES)
    MicroBatch(whole, TablePositions(), Lake(spark, str(tmp_path / "new")), MemoryLog(spark, RECORDS), WIRES).rehearse()
    assert judged == [], "without tables"
    run(lake, spark, RECORDS, batches(RECORDS[:4]))
    judged.clear()
    before = set(tmp_path.rglob("*"))
    rehearsal.rehearse()
    assert [(each.read_count, each.rejected_count) for each in sorted(judged, key=str)] == [(4, 1), (7, 1)]
    assert all(files == () for each in judged for files in each.files.values())
    assert set(tmp_path.rglob("*")) == before


def test_rehearsal_goes_on_where_another_process_writes(spark: SparkSession, lake: Lake) -> None:
    (whole,) = batches(RECORDS)
    written: list[LedgerRow] = []

    class LogBesideAJob(MemoryLog):
        def records(self, topic: str, ranges: Iterable[OffsetRange], by_spark: bool = True) -> DataFrame:
            if not written:
                written.extend(run(Lake(spark, lake.root), spark, RECORDS, [whole])[0])
            return super().records(topic, ranges, by_spark)

    MicroBatch(whole, TablePositions(), lake, LogBesideAJob(spark, RECORDS), WIRES).rehearse()
    assert written
    assert tables(lake) == expected_rows(RECORDS)


LONG = "x" * 30_000
OF_LARGE = (
    scan(1, "10:00", stop=1, offset=0),
    scan(2, "10:01", stop=4, offset=0, partition=1, description=LONG),
    scan(2, "10:02", stop=5, offset=1, partition=1, status=LONG),
    route(1, 12, offset=0),
    scan(2, "10:01", stop=4, offset=2, partition=1, description=LONG, logged="10:41"),
    LogRecord("ship-events", 0, 1, scan(offset=1).timestamp_ms, b"1", b"not a scan" + LONG.encode()),
    LogRecord("ship-events", 0, 2, scan(offset=2).timestamp_ms, b"1", b"nor this", (("source", LONG.encode()),)),
    scan(1, "11:00", stop=2, offset=3),
)


def test_large_records_make_the_same_tables(spark: SparkSession, lake: Lake) -> None:
    run(lake, spark, OF_LARGE, batches(OF_LARGE[:1], OF_LARGE[1:7], OF_LARGE[7:]))
    assert tables(lake) == expected_rows(OF_LARGE)


IN_TWO_PARTITIONS = (
    scan(1, "10:00", stop=1, offset=0, partition=2),
    scan(1, "10:00", stop=1, offset=1),
    scan(1, "10:05", stop=2, offset=1, partition=2),
    scan(2, "10:00", stop=1, offset=2),
    scan(1, "10:05", stop=2, offset=3),
)


def test_scan_that_two_partitions_tell_is_kept_once(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where each of them is read by a task of its own, and in two batches."""
    monkeypatch.setattr(log, "FEW_RECORDS", 0)
    partitions = spark.createDataFrame([(0,), (2,)], "kafka_partition int").repartition("kafka_partition")
    assert partitions.select(F.spark_partition_id()).distinct().count() == 2, "as `MemoryLog` divides them"
    rows, _ = run(lake, spark, IN_TWO_PARTITIONS, batches(IN_TWO_PARTITIONS[:2], IN_TWO_PARTITIONS[2:]))
    assert tables(lake) == expected_rows(IN_TWO_PARTITIONS)
    assert [row.counts["ship-events"].duplicate for row in rows] == [1, 1]


def test_transactions_of_two_checkpoints_two_flows_and_two_batches_are_never_the_same() -> None:
    """A new checkpoint counts its batches from 0 again; Delta would silently ignore what it took for a repeat."""
    all_batches = [batch for name in ("old", "new") for batch in batches(RECORDS[:4], RECORDS[4:], checkpoint=name)]
    transactions = {batch.transaction(flow.name) for batch in all_batches for flow in FLOWS}
    assert len(transactions) == len(all_batches) * len(FLOWS)
    apps = {transaction.app_id for transaction in transactions}
    assert len(apps) == 2 * len(FLOWS), "a checkpoint's batches count up under one name"
    assert {transaction.version for transaction in transactions} == {0, 1}


def test_batch_that_crashed_after_any_write_is_completed_by_its_repeat(
    spark: SparkSession, lake: Lake, crash_every: int
) -> None:
    """A crash is planted after some writes in group, the ledger's included; each repeat meets more tables written."""
    whole = batches(RECORDS)
    for writes in (*range(1, len(FLOWS) + 1, crash_every), len(FLOWS) + 1):
        with pytest.raises(Crashed):
            run(CrashingLake(spark, lake.root, writes), spark, RECORDS, whole)
    (row,), _ = run(lake, spark, RECORDS, whole)
    assert tables(lake) == expected_rows(RECORDS)
    assert row.counts == {"ship-events": Counts(7, 4, 2, 1), "ship-routes": Counts(4, 3, 0, 1)}
    assert Ledger(lake).last() is not None
    assert [state.position for state in row.tables.values()] == [0] * len(row.tables)


def test_ledger_gives_back_the_row_that_was_appended(spark: SparkSession, lake: Lake) -> None:
    rows, _ = run(lake, spark, RECORDS, batches(RECORDS[:4], RECORDS[4:]))
    assert Ledger(lake).last() == rows[1]
    assert rows[1].tables["silver.quarantine"].version == lake.log(SILVER_QUARANTINE).newest_version() > 0


def test_reports_are_sent_once_per_change_with_their_coordinates(spark: SparkSession, lake: Lake) -> None:
    _, log = run(lake, spark, RECORDS, batches(RECORDS[:3], RECORDS[3:6]))
    sent = [(key, value) for key, value in log.sent if key == "1"]
    assert sent == [
        (
            "1",
            (
                '{"trackingNumber":1,"occurredAt":"2026-03-01T10:00:00.000000Z","numberOfRemainingStops":11,"currentStopId":1,'
                '"endStopId":12,"statusCode":"IT","eventKafkaPartition":0,"eventKafkaOffset":0,'
                '"eventKafkaTimestamp":"2026-03-01T10:00:00.000000Z","routeKafkaPartition":0,"routeKafkaOffset":0,'
                '"routeKafkaTimestamp":"2026-03-01T09:00:00.000000Z"}'
            ),
        ),
        (
            "1",
            (
                '{"trackingNumber":1,"occurredAt":"2026-03-01T10:30:00.000000Z","numberOfRemainingStops":10,"currentStopId":2,'
                '"endStopId":12,"statusCode":"IT","eventKafkaPartition":0,"eventKafkaOffset":3,'
                '"eventKafkaTimestamp":"2026-03-01T10:30:00.000000Z","routeKafkaPartition":0,"routeKafkaOffset":0,'
                '"routeKafkaTimestamp":"2026-03-01T09:00:00.000000Z"}'
            ),
        ),
    ]
