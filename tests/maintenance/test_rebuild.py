"""A gold table that was damaged is rebuilt from silver, and the job goes on as if nothing had been."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import Rebuild
from pipelines.engine.batch import Batch, CatchUp, maintenance_batch
from pipelines.engine.integrity import prepare
from pipelines.errors import InvalidInput, NotFound
from pipelines.graph import CATCH_UP_GROUPS, with_dependents
from pipelines.io.delta.lake import Lake
from pipelines.maintenance import rebuild
from pipelines.maintenance.common import existing_lake
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger
from tests.batches import batches, new_lake, run, tables
from tests.cases import pack_of
from tests.comparison import expected_rows

PACK = pack_of(20)
BATCHES = batches(*PACK.batches)
GOLD = frozenset({"gold.remaining_stops", "gold.stop_activity", "gold.busiest_stops", "gold.failed_delivery_alerts"})


def following_only_in_the_first(batch: Batch) -> CatchUp | None:
    return None if batch.batch_id else CatchUp(CATCH_UP_GROUPS, batch.end_position)


def test_rebuilt_tables_equal_the_oracle_and_the_job_goes_on_from_them(spark: SparkSession, tmp_path: Path) -> None:
    """Four tables are lost while the windows are two batches behind; the fifth catches up beside them."""
    root = tmp_path / "lake"
    lake = new_lake(spark, str(root))
    run(lake, spark, PACK.records, BATCHES[:3], following_only_in_the_first)
    for name in GOLD:
        shutil.rmtree(root / name.replace(".", "/"))
    lake = Lake(spark, str(root))
    last = Ledger(lake).last()
    assert last is not None
    assert {state.position for state in last.tables.values()} == {0, 2}
    prepare(lake, last, last.checkpoint_id, None, GOLD)
    (row,), log = run(lake, spark, PACK.records, [maintenance_batch(last, "rebuild", rebuilds=GOLD)])
    read = [record for batch in PACK.batches[:3] for record in batch]
    assert tables(lake) == expected_rows(read)
    assert log.sent == []
    assert {state.position for state in row.tables.values()} == {row.batch_id}
    assert (row.end_offsets, sum(part.size for part in row.ranges)) == (last.end_offsets, 0)
    lake = Lake(spark, str(root))
    states = prepare(lake, row, row.checkpoint_id, None, frozenset())
    assert not any(state.is_ahead or state.is_half_done for state in states), "the next start finds all as it should be"
    run(lake, spark, PACK.records, [replace(batch, batch_id=batch.batch_id + 1) for batch in BATCHES[3:]])
    assert tables(lake) == expected_rows(PACK.records)


def test_rebuild_within_a_batch_that_was_cut_off_sends_its_reports(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path))
    _, log = run(lake, spark, PACK.records, [replace(BATCHES[0], rebuilds=frozenset({"gold.remaining_stops"}))])
    reports = expected_rows(PACK.batches[0])["gold.remaining_stops"]
    assert sorted(key for key, _ in log.sent) == sorted(str(row["tracking_number"]) for row in reports)


def test_tables_made_from_a_rebuilt_one_are_rebuilt_with_it() -> None:
    assert with_dependents(["gold.stop_activity"]) == {"gold.stop_activity", "gold.busiest_stops"}
    assert with_dependents(["gold.busiest_stops"]) == {"gold.busiest_stops"}


def test_a_lake_without_a_batch_has_nothing_to_rebuild_and_is_not_created(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no batch"):
        existing_lake(spark, Settings(home=tmp_path))
    assert not (tmp_path / "lake").exists()


def test_only_tables_that_follow_from_silver_can_be_rebuilt(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"silver.ship_events cannot be made from silver. These can: gold.remaining"):
        rebuild.run(Rebuild(tables=("gold.stop_activity", "silver.ship_events")), Settings(home=tmp_path))
