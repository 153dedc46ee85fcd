"""A gold table that was damaged is made anew from silver, and the job goes on as if nothing had been."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import Rebuild
from pipelines.errors import InvalidInput
from pipelines.io.lake import Lake
from pipelines.io.ledger import Ledger
from pipelines.jobs import rebuild
from pipelines.jobs.batch import maintenance_batch
from pipelines.jobs.intact import prepare
from pipelines.settings import Settings
from tests.batches import batches, new_lake, run, tables
from tests.cases import packed
from tests.comparison import expected_rows
from tests.test_order_free import drawn

PACK = packed(drawn(40))
BATCHES = batches(*PACK.batches)
GOLD = frozenset({"gold.remaining_stops", "gold.stop_activity", "gold.busiest_stops", "gold.failed_delivery_alerts"})


def windows_only_in_the_first(number: int, every: timedelta) -> bool:
    return not every or number == 0


def test_rebuilt_tables_equal_the_oracle_and_the_job_goes_on_from_them(spark: SparkSession, tmp_path: Path) -> None:
    """Four tables are lost while the windows are two batches behind; the fifth catches up beside them."""
    root = tmp_path / "lake"
    lake = new_lake(spark, str(root))
    run(lake, spark, PACK.records, BATCHES[:3], windows_only_in_the_first)
    for name in GOLD:
        shutil.rmtree(root / name.replace(".", "/"))
    lake = Lake(spark, str(root))
    last = Ledger(spark, lake).last()
    assert last is not None
    assert {state.position for state in last.tables.values()} == {0, 2}
    prepare(lake, last, last.checkpoint_id, GOLD)
    (row,), log = run(lake, spark, PACK.records, [maintenance_batch(last, "rebuild", GOLD)])
    read = [record for batch in PACK.batches[:3] for record in batch]
    assert tables(lake) == expected_rows(read)
    assert log.sent == []
    assert {state.position for state in row.tables.values()} == {row.batch_id}
    assert (row.end_offsets, sum(part.size for part in row.ranges)) == (last.end_offsets, 0)
    lake = Lake(spark, str(root))
    assert prepare(lake, row, row.checkpoint_id, frozenset()) is False, "the next start finds all as it should be"
    run(lake, spark, PACK.records, BATCHES[3:])
    assert tables(lake) == expected_rows(PACK.records)


def test_only_tables_that_follow_from_silver_can_be_rebuilt(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"silver.ship_events cannot be made from silver. These can: gold.remaining"):
        rebuild.run(Rebuild(tables=("gold.stop_activity", "silver.ship_events")), Settings(home=tmp_path))
