"""Two tables, row for row."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.replay.compared import TableCompared
from pipelines.replay.difference import Pair
from pipelines.tables import GOLD_CARRIER_THROUGHPUT
from tests.frames import table_frame

TABLE = GOLD_CARRIER_THROUGHPUT
ALL_BUT_CARRIER = [name for name in TABLE.column_names if name != "carrier_code"]
Row = tuple[str | None, str | None, int]


def compared(spark: SparkSession, folder: Path, live: list[Row], shadow: list[Row], *declared: str) -> TableCompared:
    """The hour from 10 to 11, of carriers and statuses that may be null."""
    readers = []
    for name, rows in (("live", live), ("shadow", shadow)):
        lake = Lake(spark, str(folder / name))
        lake.ensure(TABLE)
        hour = datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 11, tzinfo=UTC)
        if rows:
            frame = table_frame(spark, TABLE, [(*hour, *row) for row in rows])
            lake.append_rows(frame.toArrow(), TABLE, Transaction(name, 0))
        readers.append(LakeReader(lake.root))
    return Pair(*readers).compared(TABLE, frozenset(declared), str(folder / "differences"))


@pytest.fixture
def found(spark: SparkSession, tmp_path: Path) -> TableCompared:
    """Of the five kinds of row one each: equal, changed, missing, extra, and twice in live."""
    live: list[Row] = [("A", "IT", 1), ("B", None, 2), ("D", "IT", 4), (None, "IT", 5), (None, "IT", 5)]
    shadow: list[Row] = [("A", "IT", 1), ("B", None, 3), (None, None, 7), (None, "IT", 5)]
    return compared(spark, tmp_path, live, shadow)


def test_missing_extra_changed_and_doubled_rows_are_counted_also_under_keys_that_are_null(
    found: TableCompared,
) -> None:
    assert (found.live_rows, found.shadow_rows) == (5, 4)
    assert (found.missing, found.extra, found.changed) == (1, 2, 1)
    assert found.columns == {"scan_count": 1}
    assert found.undeclared == 4
    assert found.live_checksum != found.shadow_checksum


def test_samples_show_what_differs_under_its_key(found: TableCompared) -> None:
    by_kind = {(sample.kind, sample.key["carrier_code"]): sample for sample in found.samples}
    assert set(by_kind) == {("missing", None), ("extra", "D"), ("extra", None), ("changed", "B")}
    changed = by_kind["changed", "B"]
    assert (changed.live, changed.shadow) == ({"scan_count": 2}, {"scan_count": 3})
    assert changed.key["window_start"] == "2026-03-01 10:00:00+00:00"
    assert by_kind["extra", "D"].live["scan_count"] == 4
    assert by_kind["extra", "D"].shadow == {}


def test_equal_tables_have_one_checksum_whatever_their_order(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[Row] = [("A", "IT", 1), ("A", "DL", 2), ("B", "IT", 1)]
    found = compared(spark, tmp_path, rows, rows[::-1])
    assert found.differing == 0
    assert found.live_checksum == found.shadow_checksum != "0" * 16


def test_row_that_is_there_three_times_is_two_too_many(spark: SparkSession, tmp_path: Path) -> None:
    assert compared(spark, tmp_path, [("A", "IT", 1)] * 3, [("A", "IT", 1)]).extra == 2


def test_two_empty_tables_are_equal(spark: SparkSession, tmp_path: Path) -> None:
    found = compared(spark, tmp_path, [], [])
    assert (found.differing, found.live_rows, found.live_checksum) == (0, 0, "0" * 16)


@pytest.mark.parametrize(
    ("shadow", "declared", "undeclared"),
    [
        pytest.param([("A", "IT", 2)], ["scan_count"], 0, id="declared-column"),
        pytest.param([("A", "IT", 2)], ["window_end"], 1, id="other-column"),
        pytest.param([("B", "IT", 1)], ["scan_count"], 2, id="a-column-is-no-row"),
        pytest.param([("A", "IT", 1), (None, "IT", 1)], ALL_BUT_CARRIER, 1, id="a-row-with-a-null-in-the-other-column"),
        pytest.param([("B", "IT", 1)], TABLE.column_names, 0, id="whole-table"),
    ],
)
def test_what_is_declared_may_differ_and_nothing_else(
    spark: SparkSession, tmp_path: Path, shadow: list[Row], declared: list[str], undeclared: int
) -> None:
    assert compared(spark, tmp_path, [("A", "IT", 1)], shadow, *declared).undeclared == undeclared
