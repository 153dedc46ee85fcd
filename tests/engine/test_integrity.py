"""A table that does not hold what the ledger says stops the start, which says how to go on."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta import DeltaTable
from pyspark.sql import SparkSession

from pipelines.engine.batch import TablePositions
from pipelines.engine.integrity import prepare
from pipelines.engine.micro_batch import MicroBatch
from pipelines.errors import LakeMismatch
from pipelines.graph import FLOWS
from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, TableState
from pipelines.tables import GOLD_REMAINING_STOPS, GOLD_STOP_ACTIVITY
from tests.batches import WIRES, Crashed, CrashingLake, batches, new_lake, run
from tests.memory_log import MemoryLog
from tests.oracle.makers import route, scan

RECORDS = (scan(1, "10:00", offset=0), route(1, 12, offset=0), scan(1, "10:30", stop=4, offset=1), scan(2, offset=2))
FIRST, SECOND = batches(RECORDS[:2], RECORDS[2:])
CHECKPOINT = FIRST.checkpoint_id
ACTIVITY = "gold/stop_activity"


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with one batch, of which each test damages a copy."""
    root = tmp_path_factory.mktemp("whole") / "lake"
    run(new_lake(spark, str(root)), spark, RECORDS, [FIRST])
    return root


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "lake"))


def start(
    spark: SparkSession, root: Path, rebuilds: tuple[str, ...] = (), cut_off: int | None = None
) -> tuple[set[str], set[str]]:
    """Names of the tables that are ahead of the ledger, and of those that are half done."""
    lake = Lake(spark, str(root))
    states = prepare(lake, Ledger(lake).last(), CHECKPOINT, cut_off, frozenset(rebuilds))
    return (
        {state.table.name for state in states if state.is_ahead},
        {state.table.name for state in states if state.is_half_done},
    )


NOTHING: tuple[set[str], set[str]] = (set(), set())


def delete_rows(spark: SparkSession, root: Path) -> None:
    DeltaTable.forPath(spark, str(root / ACTIVITY)).delete("scan_count > 0")


def delete_folder(spark: SparkSession, root: Path) -> None:
    shutil.rmtree(root / ACTIVITY)


def make_again(spark: SparkSession, root: Path) -> None:
    shutil.rmtree(root / ACTIVITY)
    Lake(spark, str(root)).ensure(GOLD_STOP_ACTIVITY)


def delete_a_file(spark: SparkSession, root: Path) -> None:
    next((root / ACTIVITY).glob("*.parquet")).unlink()


def define_otherwise(spark: SparkSession, root: Path) -> None:
    spark.sql(f"ALTER TABLE delta.`{root / ACTIVITY}` SET TBLPROPERTIES ('by' = 'hand')")


def test_a_lake_that_is_whole_may_start(spark: SparkSession, whole: Path) -> None:
    assert start(spark, whole) == NOTHING


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            delete_rows,
            r"was changed: version 2 \(DELETE by another program\), but after batch 0 the ledger has it at version 1",
        ),
        (delete_folder, "is gone, but after batch 0 the ledger has it at version 1"),
        (make_again, "is at version 0, but after batch 0 the ledger has it at version 1"),
        (delete_a_file, r"lacks 1 of its data files, for example part-"),
        (define_otherwise, r"was changed: version 2 \(SET TBLPROPERTIES by another program\)"),
    ],
)
def test_a_gold_table_changed_by_hand_is_refused_with_the_remedy(
    spark: SparkSession, copied: Path, damage: Callable[[SparkSession, Path], None], says: str
) -> None:
    damage(spark, copied)
    with pytest.raises(LakeMismatch, match=f"gold.stop_activity {says}") as refusal:
        start(spark, copied)
    assert "`pts rebuild gold.stop_activity`" in str(refusal.value)
    assert start(spark, copied, rebuilds=("gold.stop_activity",)) == NOTHING


@pytest.mark.parametrize("table", ["silver/ship_events", "gold/remaining_stops"])
@pytest.mark.parametrize("length", [0, 40, 400])
def test_commit_that_lost_power_left_empty_or_torn_is_refused(
    spark: SparkSession, copied: Path, table: str, length: int
) -> None:
    commit = max((copied / table / "_delta_log").glob("*.json"))
    os.truncate(commit, length)
    with pytest.raises(LakeMismatch, match=f"{commit.name} is empty or torn"):
        start(spark, copied)


def test_ledger_that_lost_power_left_torn_is_refused(spark: SparkSession, copied: Path) -> None:
    commit = max((copied / "ops/batches/_delta_log").glob("*.json"))
    os.truncate(commit, 0)
    with pytest.raises(LakeMismatch, match=f"{commit.name} is empty or torn"):
        live_runner(spark, Settings(lake=str(copied))).prepare()


def test_ledger_that_lacks_a_file_is_refused_with_the_remedy(spark: SparkSession, copied: Path) -> None:
    next((copied / "ops/batches").glob("*.parquet")).unlink()
    with pytest.raises(LakeMismatch, match=r"Table ops.batches lacks 1 of its data files.*Restore the lake"):
        live_runner(spark, Settings(lake=str(copied))).prepare()


def test_all_damaged_tables_are_named_with_one_command_for_them(spark: SparkSession, copied: Path) -> None:
    for name in ("stop_activity", "carrier_throughput"):
        shutil.rmtree(copied / "gold" / name)
    with pytest.raises(LakeMismatch, match=r"`pts rebuild gold.carrier_throughput gold.stop_activity` rebuilds them"):
        start(spark, copied)


def test_what_maintenance_left_half_done_is_to_be_made_again(spark: SparkSession, copied: Path) -> None:
    lake, transaction = Lake(spark, str(copied)), Transaction("rebuild-0a1b/stop_activity", 0)
    with closing(duck.cursor()) as cursor:
        lake.replace(cursor, f"{lake.rows(GOLD_STOP_ACTIVITY)} LIMIT 1", GOLD_STOP_ACTIVITY, transaction)
        lake.delete(cursor, "true", GOLD_REMAINING_STOPS, Transaction("expire-0a1b/remaining_stops", 0))
    assert start(spark, copied) == (set(), {"gold.stop_activity", "gold.remaining_stops"})


def test_compaction_by_hand_changes_no_row_and_is_no_reason_to_refuse(spark: SparkSession, copied: Path) -> None:
    DeltaTable.forPath(spark, str(copied / "gold" / "remaining_stops")).optimize().executeCompaction()
    assert start(spark, copied) == NOTHING


def test_a_table_changed_while_the_job_runs_stops_its_next_write(spark: SparkSession, copied: Path) -> None:
    lake = Lake(spark, str(copied))
    prepare(lake, Ledger(lake).last(), CHECKPOINT, None, frozenset())
    delete_rows(spark, copied)
    with pytest.raises(LakeMismatch, match=r"gold.stop_activity was changed while the job ran: version 2 \(DELETE"):
        run(lake, spark, RECORDS, [SECOND])


def test_no_report_is_sent_from_a_table_that_was_changed(spark: SparkSession, copied: Path) -> None:
    lake = Lake(spark, str(copied))
    ledger = Ledger(lake)
    last = ledger.last()
    prepare(lake, last, CHECKPOINT, None, frozenset())
    DeltaTable.forPath(spark, str(copied / "gold" / "remaining_stops")).delete("tracking_number = 1")
    log: Any = MemoryLog(spark, RECORDS)
    with pytest.raises(LakeMismatch, match=r"gold.remaining_stops was changed while the job ran"):
        MicroBatch(SECOND, TablePositions.after(last, ledger), lake, log, WIRES).run(ledger)
    assert log.sent == []


def test_what_a_batch_wrote_before_it_was_cut_off_is_no_damage(spark: SparkSession, copied: Path) -> None:
    crashing = CrashingLake(spark, str(copied), writes="gold.remaining_stops")
    with pytest.raises(Crashed):
        run(crashing, spark, RECORDS, [SECOND])
    assert set(crashing.written) >= {"silver.ship_events", "gold.remaining_stops"}
    assert start(spark, copied, cut_off=1) == (set(crashing.written), set())
    with pytest.raises(LakeMismatch, match=r"written by batch 1 of checkpoint checkpoint, .* has planned is None"):
        start(spark, copied)


def test_catch_up_that_was_cut_off_is_known_with_the_batch_up_to_which_it_went(
    spark: SparkSession, copied: Path
) -> None:
    crashing = CrashingLake(spark, str(copied), writes=5)
    with pytest.raises(Crashed):
        run(crashing, spark, RECORDS, [SECOND])
    caught_up = set(crashing.written) & {flow.into.name for flow in FLOWS if flow.catch_up_group}
    assert caught_up
    lake = Lake(spark, str(copied))
    states = prepare(lake, Ledger(lake).last(), CHECKPOINT, 1, frozenset())
    assert {state.table.name for state in states if state.is_ahead_to == 1} == caught_up


def test_tables_from_another_time_than_ledger_and_checkpoint_are_refused_with_both_numbers(
    spark: SparkSession, whole: Path
) -> None:
    """Delta would take the next batch for a repeat, and leave its rows out."""
    lake = Lake(spark, str(whole))
    last = Ledger(lake).last()
    assert last is not None
    older = replace(last, checkpoint_batch_id=-2, tables={name: TableState(0, 0) for name in last.tables})
    with pytest.raises(LakeMismatch, match=r"written by batch 0 of checkpoint .* has planned is None"):
        prepare(lake, older, CHECKPOINT, None, frozenset())


def test_tables_without_a_ledger_are_refused(spark: SparkSession, copied: Path) -> None:
    shutil.rmtree(copied / "ops" / "batches")
    lake = Lake(spark, str(copied))
    with pytest.raises(LakeMismatch, match=r"was changed: version 1 .* but the ledger is empty"):
        prepare(lake, None, "a new checkpoint", None, frozenset())


def test_first_batch_that_was_cut_off_is_no_damage(spark: SparkSession, tmp_path: Path) -> None:
    new_lake(spark, str(tmp_path))
    crashing = CrashingLake(spark, str(tmp_path), writes=2)
    with pytest.raises(Crashed):
        run(crashing, spark, RECORDS, [FIRST])
    states = prepare(Lake(spark, str(tmp_path)), None, CHECKPOINT, 0, frozenset())
    assert {state.table.name for state in states if state.is_ahead} == set(crashing.written)


def test_missing_tables_are_created_from_their_records(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path))
    prepare(lake, None, None, None, frozenset())
    assert lake.read(GOLD_REMAINING_STOPS).columns == GOLD_REMAINING_STOPS.column_names
    log = tmp_path / "gold" / "remaining_stops" / "_delta_log" / f"{0:020d}.json"
    assert "CREATE TABLE" in json.dumps([json.loads(line) for line in log.read_text().splitlines()])
