"""Which rows may be let go. Each case is a row; all are judged in one run."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from pipelines.tables.record import Expiry
from pipelines.transforms.expiry import is_expired

BEFORE = datetime(2026, 3, 1, 10, tzinfo=UTC)
Verdicts = dict[str, tuple[bool | None, bool | None]]
MICROSECOND = timedelta(microseconds=1)
ROWS: dict[str, tuple[datetime | None, str | None]] = {
    "at the limit": (BEFORE, "DL"),
    "a microsecond before it": (BEFORE - MICROSECOND, "DL"),
    "a microsecond after it": (BEFORE + MICROSECOND, "DL"),
    "old, of another kind": (BEFORE - timedelta(days=900), "IT"),
    "old, of no kind": (BEFORE - timedelta(days=900), None),
    "without a time": (None, "DL"),
    "before the epoch": (datetime(1969, 12, 31, tzinfo=UTC), "DL"),
}


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession) -> Verdicts:
    """By row: whether it is expired if delivered packages are, and if all are."""
    if_delivered, any_kind = (
        Expiry("occurred_at", timedelta(days=90), rows="rows", condition="status_code = 'DL'"),
        Expiry("occurred_at", timedelta(days=90), rows="rows"),
    )
    frame = spark.createDataFrame(
        [(name, *row) for name, row in ROWS.items()], "name STRING, occurred_at TIMESTAMP, status_code STRING"
    )
    found = frame.select("name", is_expired(if_delivered, BEFORE), is_expired(any_kind, BEFORE)).collect()
    return {name: (delivered, either) for name, delivered, either in found}


def test_row_is_expired_strictly_before_the_limit(verdicts: Verdicts) -> None:
    assert verdicts["a microsecond before it"] == (True, True)
    assert verdicts["at the limit"] == (False, False)
    assert verdicts["a microsecond after it"] == (False, False)


def test_row_of_another_kind_is_not_expired(verdicts: Verdicts) -> None:
    assert verdicts["old, of another kind"] == (False, True)


def test_row_whose_kind_is_unknown_is_not_expired(verdicts: Verdicts) -> None:
    assert verdicts["old, of no kind"] == (False, True)


def test_row_without_a_time_is_not_expired(verdicts: Verdicts) -> None:
    assert verdicts["without a time"] == (False, False)


def test_time_before_the_epoch_is_as_old_as_it_looks(verdicts: Verdicts) -> None:
    assert verdicts["before the epoch"] == (True, True)
