"""Which rows may be removed. Each case is a row; all are judged in one run."""

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pipelines.tables.record import Expiry
from pipelines.transforms.expiry import is_expired
from tests.rows import answer

BEFORE = datetime(2026, 3, 1, 12, 0, 0, 4, tzinfo=timezone(timedelta(hours=2)))
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
def verdicts() -> Verdicts:
    """By row: whether it is expired if delivered packages are, and if all are."""
    if_delivered, any_kind = (
        Expiry("occurred_at", timedelta(days=90), rows="rows", condition="status_code = 'DL'"),
        Expiry("occurred_at", timedelta(days=90), rows="rows"),
    )
    names, times, kinds = zip(*((name, *row) for name, row in ROWS.items()), strict=True)
    rows = pa.table({"name": names, "occurred_at": pa.array(times, pa.timestamp("us", "UTC")), "status_code": kinds})
    query = (
        f"SELECT name, {is_expired(if_delivered, BEFORE)} AS one, {is_expired(any_kind, BEFORE)} AS either FROM reports"
    )
    found = (row.values() for row in answer(query, reports=rows).to_pylist())
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
