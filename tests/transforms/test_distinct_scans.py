"""One scan is kept of those that tell the same."""

from pyspark.sql import SparkSession

from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.tables import SILVER_SHIP_EVENTS
from pipelines.transforms.distinct_scans import distinct_scans
from pipelines.transforms.judge import judged
from tests.frames import record_frame, table_frame
from tests.oracle.makers import scan
from tests.oracle.records import LogRecord


def offsets(spark: SparkSession, batch: list[LogRecord], before: list[LogRecord]) -> list[int]:
    """Offsets of the scans of `batch` that are new after those of `before`."""
    nothing = table_frame(spark, SILVER_SHIP_EVENTS)
    known = distinct_scans(judged(record_frame(spark, before), SHIP_EVENTS, "csv"), nothing)
    rows = distinct_scans(judged(record_frame(spark, batch), SHIP_EVENTS, "csv"), known)
    return sorted(row["kafka_offset"] for row in rows.collect())


def test_of_a_scan_told_thrice_in_a_batch_the_lowest_offset_stays(spark: SparkSession) -> None:
    assert offsets(spark, [scan(offset=7), scan(offset=5), scan(offset=9, stop=4), scan(offset=8)], []) == [5, 9]


def test_scan_that_an_earlier_batch_kept_is_not_new(spark: SparkSession) -> None:
    assert offsets(spark, [scan(offset=5), scan(offset=6, stop=4)], [scan(offset=1)]) == [6]


def test_scans_without_a_status_are_the_same_scan(spark: SparkSession) -> None:
    assert offsets(spark, [scan(offset=5, status="")], [scan(offset=1, status="")]) == []
    assert offsets(spark, [scan(offset=5, status="")], [scan(offset=1, status="IT")]) == [5]


def test_every_part_of_the_identity_tells_scans_apart(spark: SparkSession) -> None:
    variants = [
        scan(43, offset=2),
        scan(clock="10:00:00.000001", logged="10:00", offset=3),
        scan(code="DEP", offset=4),
        scan(status="OD", offset=5),
        scan(stop=4, offset=6),
    ]
    assert offsets(spark, variants, [scan(offset=1)]) == [2, 3, 4, 5, 6]


def test_what_is_not_part_of_the_identity_does_not_tell_scans_apart(spark: SparkSession) -> None:
    variants = [
        scan(carrier="DHL", offset=2),
        scan(place="DE,BY,Munich,80331", offset=3),
        scan(description="x", offset=4),
    ]
    assert offsets(spark, variants, [scan(offset=1)]) == []


def test_rejected_record_is_neither_new_nor_known(spark: SparkSession) -> None:
    future = scan(clock="11:00", logged="10:00", offset=1)
    assert offsets(spark, [scan(clock="11:00", logged="11:00", offset=2)], [future]) == [2]
    assert offsets(spark, [future], []) == []
