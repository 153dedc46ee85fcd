"""How many stops remain, whatever the order in which scans and routes arrive."""

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.tables import GOLD_REMAINING_STOPS, SILVER_SHIP_EVENTS
from pipelines.transforms.distinct_scans import distinct_scans
from pipelines.transforms.judge import judged
from pipelines.transforms.remaining_stops import remaining_stops
from pipelines.transforms.route_versions import route_versions
from tests.frames import in_order, plain_rows, record_frame, table_frame
from tests.oracle.makers import route, scan, withdrawal
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables


def fold(spark: SparkSession, batch: list[LogRecord], current: DataFrame) -> DataFrame:
    """The reports that a batch changes."""
    events, routes = ([record for record in batch if record.topic == topic.name] for topic in (SHIP_EVENTS, SHIP_ROUTES))
    scans = distinct_scans(
        judged(record_frame(spark, events), SHIP_EVENTS, "csv"), table_frame(spark, SILVER_SHIP_EVENTS)
    )
    versions = route_versions(judged(record_frame(spark, routes), SHIP_ROUTES, "csv"))
    return remaining_stops(scans, versions, current)


def folded(spark: SparkSession, *batches: list[LogRecord]) -> dict[int, dict[str, Any]]:
    """The table after the batches, by package."""
    table: dict[int, dict[str, Any]] = {}
    current = table_frame(spark, GOLD_REMAINING_STOPS)
    for batch in batches:
        changed = fold(spark, batch, current)
        table |= {row["tracking_number"]: row for row in plain_rows(changed)}
        untouched = current.join(changed.select("tracking_number"), "tracking_number", "left_anti").select(*current.columns)
        current = untouched.unionByName(changed).localCheckpoint()
    return table


def remaining(spark: SparkSession, *batches: list[LogRecord]) -> int | None:
    return folded(spark, *batches)[42]["number_of_remaining_stops"]  # type: ignore[no-any-return]


def test_report_needs_a_scan_and_a_route(spark: SparkSession) -> None:
    assert remaining(spark, [route(end=12, offset=0), scan(stop=3, offset=0)]) == 9
    assert remaining(spark, [scan(stop=3, offset=0)]) is None
    assert remaining(spark, [route(end=12, offset=0)]) is None


def test_scan_may_come_before_its_route(spark: SparkSession) -> None:
    assert remaining(spark, [scan(stop=3, offset=0)], [route(end=12, offset=0)]) == 9


def test_new_route_changes_the_report_without_a_new_scan(spark: SparkSession) -> None:
    first = [scan(stop=3, offset=0), route(end=12, offset=0)]
    assert remaining(spark, first, [route(end=8, offset=1, logged="09:30")]) == 5


def test_late_scan_does_not_take_the_report_back(spark: SparkSession) -> None:
    latest = scan(stop=5, clock="12:00", offset=0)
    late = scan(stop=2, clock="10:00", logged="12:30", offset=1)
    assert remaining(spark, [route(end=12, offset=0), latest], [late]) == 7


def test_late_scan_changes_no_report(spark: SparkSession) -> None:
    current = fold(spark, [scan(stop=5, clock="12:00", offset=0)], table_frame(spark, GOLD_REMAINING_STOPS)).localCheckpoint()
    assert fold(spark, [scan(stop=2, clock="10:00", logged="12:30", offset=1)], current).count() == 0


def test_withdrawn_route_leaves_none_and_a_later_one_is_in_force_again(spark: SparkSession) -> None:
    first = [scan(stop=3, offset=0), route(end=12, offset=0), withdrawal(offset=1, logged="09:30")]
    row = folded(spark, first)[42]
    assert (row["number_of_remaining_stops"], row["end_stop_id"], row["route_id"]) == (None, None, None)
    assert row["route_kafka_offset"] == 1
    assert remaining(spark, first, [route(end=7, offset=2, logged="09:40")]) == 4


def test_route_with_an_older_timestamp_is_not_in_force(spark: SparkSession) -> None:
    assert remaining(spark, [scan(stop=3, offset=0), route(end=12, offset=0, logged="09:30")], [route(end=5, offset=1)]) == 9


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [
        (scan(stop=1, clock="10:00", offset=9), scan(stop=2, clock="10:00:00.000001", logged="10:00", offset=1)),
        (scan(stop=1, clock="10:00", logged="10:00", offset=9), scan(stop=2, clock="10:00", logged="10:01", offset=1)),
        (scan(stop=1, partition=0, offset=9), scan(stop=2, partition=1, offset=1)),
        (scan(stop=1, offset=1), scan(stop=2, offset=9)),
    ],
    ids=["occurred_at", "kafka_timestamp", "kafka_partition", "kafka_offset"],
)
def test_ties_are_broken_by_each_part_of_the_order(spark: SparkSession, lesser: LogRecord, greater: LogRecord) -> None:
    for batches in ([[lesser, greater]], [[lesser], [greater]], [[greater], [lesser]]):
        assert folded(spark, *batches)[42]["current_stop_id"] == 2


def test_folding_a_batch_again_changes_nothing(spark: SparkSession) -> None:
    batch = [scan(stop=3, offset=0), route(end=12, offset=0)]
    current = fold(spark, batch, table_frame(spark, GOLD_REMAINING_STOPS)).localCheckpoint()
    assert fold(spark, batch, current).count() == 0


def test_any_cut_of_a_random_log_gives_the_oracles_table(spark: SparkSession) -> None:
    dice = random.Random(7)
    records: list[LogRecord] = []
    for offset in range(120):
        package, clock = dice.randrange(1, 12), f"{dice.randrange(8, 12):02}:{dice.randrange(60):02}"
        records.append(
            dice.choice([
                scan(package, clock, logged="12:00", stop=dice.randrange(9), offset=offset),
                route(package, dice.randrange(9, 15), offset=offset, logged=clock),
                withdrawal(package, offset=offset, logged=clock),
            ])
        )  # fmt: skip
    cuts = sorted(dice.sample(range(1, 120), 3))
    batches = [records[start:end] for start, end in zip([0, *cuts], [*cuts, 120], strict=True)]
    expected = expected_tables(records)["gold.remaining_stops"]
    assert in_order(folded(spark, *batches).values()) == in_order(expected)
