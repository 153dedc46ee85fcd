"""What a batch reads of earlier ones reaches exactly as far as the rules do: one lake, four batches."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT
from pipelines.engine.batch import Batch, CatchUp
from pipelines.graph import CATCH_UP_GROUPS
from pipelines.io.kafka import log
from pipelines.state.ledger import Counts, LedgerRow
from tests.batches import batches, new_lake, run, tables
from tests.comparison import Rows, expected_rows
from tests.oracle.makers import at, scan
from tests.oracle.records import LogRecord

Lake = tuple[list[LedgerRow], dict[str, Rows]]
MILLISECOND = timedelta(milliseconds=1)
NOWHERE = ",,,"


def told(record: LogRecord, offset: int, after: timedelta) -> LogRecord:
    """A scan of 10:00 on the log so long after it happened."""
    return replace(record, offset=offset, timestamp_ms=(at("10:00") // 1000) + after // MILLISECOND)


ONE, WITHOUT_STATUS, OTHER = scan(1, offset=0), scan(2, status="", offset=0), scan(3, offset=0)
FIRST = (
    told(ONE, 0, -FUTURE_TOLERANCE),
    told(WITHOUT_STATUS, 1, -FUTURE_TOLERANCE),
    told(OTHER, 2, LATENESS_LIMIT),
    *(
        scan(4, clock, status="DF", offset=offset)
        for offset, clock in enumerate(("09:00:00.000001", "09:30", "10:30", "10:59:59.999999"), start=3)
    ),
    scan(5, "10:01", place=NOWHERE, carrier="", status="", offset=7),
    scan(7, "13:05", status="DF", offset=8),
    scan(7, "13:20", status="DF", offset=9),
)
A_WEEK_LATER = (
    told(ONE, 10, LATENESS_LIMIT),
    told(WITHOUT_STATUS, 11, LATENESS_LIMIT),
    scan(5, "10:02", place=NOWHERE, carrier="", status="", offset=12),
    scan(6, day="2026-03-20", offset=13),
)
AS_EARLY_AS_MAY_BE = (told(OTHER, 14, -FUTURE_TOLERANCE), scan(6, day="2026-02-10", offset=15))
LATE_FAILURES = (
    scan(4, "10:00", status="DF", logged="14:00", offset=16),
    scan(7, "12:40", status="DF", logged="14:00", offset=17),
)
"""Alone in their batch, so that what is read around them reaches no farther than it must."""

PARTS = (FIRST, A_WEEK_LATER, AS_EARLY_AS_MAY_BE, LATE_FAILURES)
RECORDS = [record for part in PARTS for record in part]


def nothing_follows_in_the_second(batch: Batch) -> CatchUp | None:
    return None if batch.batch_id == 1 else CatchUp(CATCH_UP_GROUPS, batch.end_position)


@pytest.fixture(scope="module", params=[log.FEW_RECORDS, pytest.param(0, marks=pytest.mark.long)], ids=["few", "many"])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The ledger's rows, and the tables after all batches: once as batches of few rows are run, once as of many."""
    made = new_lake(spark, str(tmp_path_factory.mktemp("reach") / "lake"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "FEW_RECORDS", request.param)
        rows, _ = run(made, spark, RECORDS, batches(*PARTS), nothing_follows_in_the_second)
    return rows, tables(made)


def test_scan_told_again_seven_days_after_it_happened_is_a_duplicate_with_and_without_a_status(lake: Lake) -> None:
    """It was told first ten minutes before it happened; and the batch holds a scan of a later day, too."""
    assert lake[0][1].counts["ship-events"] == Counts(4, 2, 2, 0)


def test_scan_told_again_ten_minutes_before_it_happened_is_a_duplicate(lake: Lake) -> None:
    """It was told first seven days after it happened; and the batch holds a scan of an earlier day, too."""
    assert lake[0][2].counts["ship-events"] == Counts(2, 1, 1, 0)


def test_failure_told_late_is_counted_with_those_almost_an_hour_before_and_after_it(lake: Lake) -> None:
    found = lake[1]["gold.failed_delivery_alerts"]
    assert {row["occurred_at"]: (row["failure_count"], row["first_failed_at"]) for row in found} == {
        at("10:00"): (3, at("09:00:00.000001")),
        at("10:59:59.999999"): (3, at("10:00")),
        at("13:20"): (3, at("12:40")),
    }


def test_catch_up_tables_lose_no_batch_and_count_none_twice(lake: Lake) -> None:
    assert [row.tables["gold.stop_activity"].position for row in lake[0]] == [0, 0, 2, 3]
    assert lake[1] == expected_rows(RECORDS)
