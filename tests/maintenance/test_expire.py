"""What is removed follows from the log alone, and does not come back in parts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import LakeMismatch, NotFound
from pipelines.io.delta.lake import Lake
from pipelines.maintenance.expire import expire
from pipelines.state.ledger import Ledger, LedgerRow
from tests.batches import batches, new_lake, run, tables
from tests.comparison import Rows, expected_rows
from tests.oracle.makers import at, route, scan
from tests.oracle.records import LogRecord

OLD, IN_90_DAYS, IN_91_DAYS, IN_457_DAYS = "2026-03-01", "2026-05-30", "2026-05-31", "2027-06-01"
NOW = datetime(2027, 6, 2, tzinfo=UTC)
DAY = 24 * 3600 * 1_000_000


def delivered(package: int, day: str, offset: int) -> LogRecord:
    return scan(package, "10:00", day=day, status="DL", stop=5, offset=offset)


AT_90_DAYS = [
    *(delivered(package, OLD, offset=package) for package in (1, 2, 4)),
    scan(3, "10:00", day=OLD, status="IT", offset=5),
    *(route(package, 12, offset=package) for package in (1, 2, 3, 4)),
    delivered(5, IN_90_DAYS, offset=6),
]
AT_91_DAYS = [delivered(6, IN_91_DAYS, offset=7)]
COME_BACK = [route(1, 20, offset=5), scan(2, "11:00", day=IN_91_DAYS, status="RT", stop=6, offset=8)]
AT_457_DAYS = [scan(7, "10:00", day=IN_457_DAYS, offset=9)]
TOLD_LATE = [scan(8, "10:06", day=OLD, offset=10)]
PARTS = [AT_90_DAYS, AT_91_DAYS, COME_BACK, AT_457_DAYS, TOLD_LATE]
RECORDS = [record for part in PARTS for record in part]


def last(lake: Lake, spark: SparkSession) -> LedgerRow:
    row = Ledger(lake).last()
    assert row is not None
    return row


def apply_expiry(lake: Lake, spark: SparkSession, *, dry_run: bool = False) -> dict[str, int]:
    """Rows by table, where there are any."""
    found = expire(last(lake, spark), lake, Ledger(lake), dry_run=dry_run, now=NOW)
    return {each.table: each.row_count for each in found if each.row_count}


def take_in(lake: Lake, spark: SparkSession, part: Sequence[LogRecord]) -> None:
    """The next part of the log, as the next batch of the ledger."""
    number = PARTS.index(list(part))
    batch = batches(*PARTS)[number]
    batch_id = last(lake, spark).batch_id + 1 if number else 0
    run(lake, spark, RECORDS, [replace(batch, batch_id=batch_id)])


def kept(records: Sequence[LogRecord], newest: int) -> dict[str, Rows]:
    """The oracle's rows without those that are too old when the newest scan is of that time."""
    expected = expected_rows(records)
    reports, windows = newest - 90 * DAY, newest - 400 * DAY
    return expected | {
        "gold.remaining_stops": [
            row
            for row in expected["gold.remaining_stops"]
            if not (row["status_code"] == "DL" and row["occurred_at"] < reports)
        ],
        **{
            name: [row for row in rows if row["window_end"] >= windows]
            for name, rows in expected.items()
            if rows and "window_end" in rows[0]
        },
    }


def reports(lake: Lake) -> dict[int, int | None]:
    """Remaining stops by package."""
    return {row["tracking_number"]: row["number_of_remaining_stops"] for row in tables(lake)["gold.remaining_stops"]}


def test_a_lake_without_a_scan_lets_nothing_go(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path))
    run(lake, spark, [route(offset=0)], batches([route(offset=0)]))
    with pytest.raises(NotFound, match="There is no scan"):
        apply_expiry(lake, spark)


def test_what_is_removed_and_comes_back_is_as_if_the_log_were_read_again(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path))
    take_in(lake, spark, AT_90_DAYS)
    assert apply_expiry(lake, spark) == {}, "delivered exactly 90 days ago"
    assert last(lake, spark).batch_id == 0

    take_in(lake, spark, AT_91_DAYS)
    assert apply_expiry(lake, spark, dry_run=True) == {"gold.remaining_stops": 3}
    assert len(reports(lake)) == 6
    assert apply_expiry(lake, spark) == {"gold.remaining_stops": 3}
    assert reports(lake).keys() == {3, 5, 6}
    assert apply_expiry(lake, spark) == {}

    take_in(lake, spark, COME_BACK)
    assert reports(lake) == {1: 15, 2: 6, 3: 9, 5: None, 6: None}, "whole, with what was known before"
    assert apply_expiry(lake, spark) == {"gold.remaining_stops": 1}
    assert tables(lake) == kept(RECORDS[: -len(AT_457_DAYS + TOLD_LATE)], at("11:00", IN_91_DAYS))

    take_in(lake, spark, AT_457_DAYS)
    with pytest.raises(LakeMismatch, match="newest scan is of 2027-06-01 10:00 UTC, and it is 2027-05-30 00:00"):
        expire(last(lake, spark), lake, Ledger(lake), now=NOW - timedelta(days=3))
    gone = apply_expiry(lake, spark)
    assert gone == {
        "gold.remaining_stops": 2,
        "gold.stop_activity": 2,
        "gold.busiest_stops": 2,
        "gold.carrier_throughput": 2,
    }
    take_in(lake, spark, TOLD_LATE)
    assert tables(lake) == kept(RECORDS, at("10:00", IN_457_DAYS))
