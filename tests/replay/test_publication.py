"""Whoever follows package-reports hears what a promotion changes."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.replay.publication import publish
from pipelines.tables import GOLD_REMAINING_STOPS
from tests.memory_log import MemoryLog
from tests.queries.package_rows import REPORTS, report, scan


def lake_with(spark: SparkSession, folder: Path, stops: dict[int, int]) -> Lake:
    """Reports of packages that are at these stops."""
    lake = Lake(spark, str(folder))
    lake.ensure(GOLD_REMAINING_STOPS)
    reports = [report(scan(stop), None) | {"tracking_number": number} for number, stop in stops.items()]
    rows = pa.Table.from_pylist(reports, pa.schema(REPORTS))
    lake.append_rows(rows, GOLD_REMAINING_STOPS, Transaction("test", 0))
    return lake


def test_changed_and_new_reports_are_sent_and_one_that_is_gone_is_a_tombstone(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = lake_with(spark, tmp_path / "before", {1: 5, 2: 5, 3: 5})
    after = lake_with(spark, tmp_path / "after", {1: 5, 2: 6, 4: 5})
    log: Any = MemoryLog(spark, [])
    assert publish(LakeReader(before.root), LakeReader(after.root), after, log) == 3
    assert {key: value and '"currentStopId":6' in value for key, value in log.sent} == {
        "2": True,
        "3": None,
        "4": False,
    }
    assert publish(LakeReader(after.root), LakeReader(after.root), after, log) == 0
