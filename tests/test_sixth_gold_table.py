"""A gold table more is a record, a transform and a line in the graph: the example of CONTRIBUTING."""

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines import graph
from pipelines.engine.runner import LakeRunner
from pipelines.graph import NEW_SCANS, Flow
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.tables import Column, Table
from tests.batches import batches, new_lake, run, write_checkpoint
from tests.frames import plain_rows
from tests.oracle.makers import scan

GOLD_CARRIER_SCANS = Table(
    name="gold.carrier_scans",
    doc="How many scans each carrier has made in an hour.",
    grain="one row per hour and carrier",
    key=("window_start", "carrier_code"),
    measures=("scan_count",),
    z_order_by=("window_start",),
    columns=(
        Column("window_start", "TIMESTAMP", "First moment of the hour (event time).", is_required=True),
        Column("carrier_code", "STRING", "The carrier; a null is a value like any other."),
        Column("scan_count", "BIGINT", "Its scans.", is_required=True),
    ),
)


CARRIER_SCANS = """
    SELECT date_trunc('hour', occurred_at) AS window_start, carrier_code, count(*) AS scan_count FROM scans GROUP BY ALL
"""
"""Rows of gold.carrier_scans that count `scans` alone."""

FLOW = Flow("carrier_scans", GOLD_CARRIER_SCANS, CARRIER_SCANS, {"scans": NEW_SCANS}, write="add", turn="carriers")

RECORDS = (
    scan(1, "10:00", carrier="UPS", offset=0),
    scan(1, "10:00", carrier="UPS", offset=1),
    scan(2, "10:05", carrier="", offset=2),
    scan(2, "10:10", carrier="UPS", offset=3),
    scan(3, "10:20", carrier="DHL", offset=4),
)
FIRST, SECOND = batches(RECORDS[:3], RECORDS[3:])
SILVER_FLOWS = tuple(flow for flow in graph.FLOWS if not flow.is_fold)
FLOWS = (*SILVER_FLOWS, FLOW)


def test_a_new_gold_table_holds_the_whole_log_from_its_first_start_on(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    run(new_lake(spark, str(root)), spark, RECORDS, [FIRST], flows=SILVER_FLOWS)
    write_checkpoint(root, [FIRST])

    runner = live_runner(spark, Settings(home=tmp_path, lake=str(root)), FLOWS)
    runner.prepare()
    assert counts(runner) == {"UPS": 1, None: 1}
    assert runner.last is not None
    assert (runner.last.batch_id, runner.last.tables["gold.carrier_scans"].position) == (1, 1)

    runner.prepare()
    assert runner.last.batch_id == 1, "the second start has nothing to make anew"
    run(runner.lake, spark, RECORDS, [replace(SECOND, batch_id=2)], flows=FLOWS)
    assert counts(runner) == {"UPS": 2, None: 1, "DHL": 1}


def counts(runner: LakeRunner) -> dict[str | None, int]:
    return {row["carrier_code"]: row["scan_count"] for row in plain_rows(runner.lake.read(GOLD_CARRIER_SCANS))}
