"""A large `gold.remaining_stops` takes several batches at once; nobody who asks the product sees that it does."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import Sql
from pipelines.engine import schedule
from pipelines.engine.batch import END_OF_DEFERRAL, maintenance_batch
from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.queries.report import package_report
from pipelines.queries.sql import query
from pipelines.settings import Settings
from pipelines.tables import GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS
from tests.batches import Crashed, CrashingLake, batches, new_lake, run, tables
from tests.comparison import Rows, expected_rows
from tests.oracle.makers import route, scan, withdrawal

PARTS = (
    (scan(1, "10:00", stop=1, offset=0), route(1, 12, offset=0), scan(2, "10:01", stop=4, offset=0, partition=1)),
    (scan(1, "10:30", stop=2, offset=1), scan(3, "10:00", stop=3, offset=1, partition=1)),
    (route(2, 9, offset=1, partition=0), scan(1, "10:10", stop=9, logged="10:41", offset=2)),
    (withdrawal(1, offset=2, logged="10:42"), scan(3, "10:50", stop=5, offset=2, partition=1)),
)
RECORDS = [record for part in PARTS for record in part]
REPORTS = GOLD_REMAINING_STOPS.name
ALL = f"SELECT * FROM {REPORTS} ORDER BY tracking_number"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return new_lake(spark, str(tmp_path / "lake"))


def reports(lake: Lake) -> Rows:
    return tables(lake)[REPORTS]


def shown(lake: Lake) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = query(Sql(query=ALL), Settings(home=Path(lake.root), lake=lake.root)).to_pylist()
    return rows


@pytest.mark.usefixtures("reports_are_large")
def test_large_table_stays_until_a_round_begins_and_is_then_that_of_the_batch(spark: SparkSession, lake: Lake) -> None:
    first, second, third, fourth = batches(*PARTS)
    rows, _ = run(lake, spark, RECORDS, [first, second, third])
    assert [row.tables[REPORTS].position for row in rows] == [0, 0, 0]
    assert reports(lake) == expected_rows(PARTS[0])[REPORTS]
    begins = replace(fourth, catch_up=END_OF_DEFERRAL)
    rows, _ = run(lake, spark, RECORDS, [begins])
    assert rows[0].tables[REPORTS].position == 3
    assert reports(lake) == expected_rows(RECORDS)[REPORTS]


@pytest.mark.usefixtures("reports_are_large")
def test_messages_tell_of_each_batch_what_they_tell_of_a_small_table(spark: SparkSession, lake: Lake) -> None:
    _, deferred = run(lake, spark, RECORDS, batches(*PARTS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "SMALL_ROWS", 1 << 40)
        _, at_once = run(new_lake(spark, f"{lake.root}-small"), spark, RECORDS, batches(*PARTS))
    assert sorted(deferred.sent) == sorted(at_once.sent)
    assert len(deferred.sent) == 7
    assert [json.loads(value or "")["currentStopId"] for key, value in deferred.sent if key == "1"] == [1, 2, 2]


@pytest.mark.usefixtures("reports_are_large")
def test_questions_are_answered_from_what_is_stored_and_from_what_waits(spark: SparkSession, lake: Lake) -> None:
    expected, planned = shown_when_small(spark, lake), batches(*PARTS)
    for batch, wanted in zip(planned, expected, strict=True):
        run(lake, spark, RECORDS, [batch])
        assert shown(lake) == wanted
    assert [row["tracking_number"] for row in shown(lake)] == [1, 2, 3]
    found = package_report(3, Settings(home=Path(lake.root), lake=lake.root))
    assert found.report is not None
    assert found.report["current_stop_id"] == 5


def shown_when_small(spark: SparkSession, lake: Lake) -> list[list[dict[str, object]]]:
    small, found = new_lake(spark, f"{lake.root}-small"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "SMALL_ROWS", 1 << 40)
        for batch in batches(*PARTS):
            run(small, spark, RECORDS, [batch])
            found.append(shown(small))
    return found


@pytest.mark.usefixtures("reports_are_large")
def test_package_that_was_removed_comes_back_as_a_whole(spark: SparkSession, lake: Lake) -> None:
    """Its report goes on from the archive, also where the table waits."""
    planned = batches(*PARTS)
    run(lake, spark, RECORDS, planned[:1])
    archived = lake.rows(GOLD_REMAINING_STOPS)
    move(lake, archived, "tracking_number = 1")
    run(lake, spark, RECORDS, planned[1:2])
    (first, *_) = shown(lake)
    assert (first["tracking_number"], first["current_stop_id"], first["end_stop_id"]) == (1, 2, 12)


def move(lake: Lake, rows: str, condition: str) -> None:
    """What `pts expire` does with rows."""
    with closing(duck.cursor()) as cursor:
        lake.append(cursor, f"SELECT * FROM ({rows}) WHERE {condition}", OPS_EXPIRED_REPORTS, Transaction("x/a", 0))
        lake.delete(cursor, condition, GOLD_REMAINING_STOPS, Transaction("x/b", 0))


@pytest.mark.usefixtures("reports_are_large")
def test_maintenance_finds_all_tables_at_one_batch(spark: SparkSession, lake: Lake) -> None:
    rows, _ = run(lake, spark, RECORDS, batches(*PARTS))
    run(lake, spark, RECORDS, [maintenance_batch(rows[-1], "catch-up")])
    assert tables(lake) == expected_rows(RECORDS)


def test_batch_that_was_cut_off_ends_as_it_was_decided_although_the_table_is_large_now(
    spark: SparkSession, lake: Lake, request: pytest.FixtureRequest
) -> None:
    planned = batches(*PARTS)
    run(lake, spark, RECORDS, planned[:1])
    with pytest.raises(Crashed):
        run(CrashingLake(spark, lake.root, REPORTS), spark, RECORDS, planned[1:2])
    request.getfixturevalue("reports_are_large")
    (row,), _ = run(Lake(spark, lake.root), spark, RECORDS, planned[1:2])
    assert row.tables[REPORTS].position == 1
    assert row.tables[REPORTS].version == lake.log(GOLD_REMAINING_STOPS).newest_version()
    assert reports(lake) == expected_rows([*PARTS[0], *PARTS[1]])[REPORTS]


def test_a_batch_with_many_new_rows_does_not_wait() -> None:
    assert schedule.pays(schedule.SMALL_ROWS, 1)
    assert not schedule.pays(5_000_000, 2_000)
    assert schedule.pays(5_000_000, 100_000)
