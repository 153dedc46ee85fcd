"""The job, and the commands that correct history, on tables that were compacted: also when that was cut off."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.checks import verify
from pipelines.commands import ReplayCompare, ReplayPromote, ReplayRollback, Verify
from pipelines.io.delta import delta_table, files
from pipelines.live.planner import live_runner
from pipelines.maintenance.compact import compact
from pipelines.maintenance.compacted import Compacted
from pipelines.replay import compare, promote, rollback
from tests.comparison import expected_rows
from tests.replay.offline import DECLARED, PACK, Offline, assert_only_the_planted_is_wrong, fed
from tests.saboteur import Saboteur

STEPS = ((files, "join"), (files, "order"), (files, "vacuum"), (files, "write_checkpoint"))


@pytest.fixture(autouse=True)
def _everything_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few files and commits there are."""
    monkeypatch.setattr(files, "MANY_SMALL", 2)
    monkeypatch.setattr(delta_table, "LONG_LOG", 2)


def compacted(lake: Offline) -> Compacted:
    """Nothing is kept for its age."""
    return compact(lake.settings.lake_root, timedelta(0))


def test_job_goes_on_after_a_compaction_that_was_cut_off_after_any_step(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash_every: int
) -> None:
    lake = fed(spark, tmp_path, PACK.batches, -2)
    before = lake.tables()
    saboteur = Saboteur(monkeypatch, *STEPS)
    for _ in saboteur.crashes(lambda: compacted(lake), crash_every):
        assert not live_runner(spark, lake.settings).prepare()
    assert saboteur.limit > 10
    saboteur.limit = 0
    assert lake.tables() == before
    lake.feed(-1)
    compacted(lake)
    lake.feed()
    assert lake.tables() == expected_rows(PACK.records)
    verify.run(Verify(), lake.settings)


def test_second_compaction_does_nothing(lake: Offline) -> None:
    first = compacted(lake)
    assert {each.table for each in first.tables if each.is_joined} > {"silver.ship_events", "ops.batches"}
    assert sum(each.vacuumed.file_count for each in first.tables)
    before = sorted(Path(lake.settings.lake_root).rglob("*"))
    second = compacted(lake)
    assert sorted(Path(lake.settings.lake_root).rglob("*")) == before
    assert [each.after for each in second.tables] == [each.after for each in first.tables]
    assert not any(each.is_joined or each.vacuumed.file_count or each.left for each in second.tables)


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_batch_that_was_cut_off_is_completed_after_a_compaction(wrong_lake: Offline, writes: int) -> None:
    """It reads the files that its own commits have added."""
    lake = wrong_lake
    lake.crash(writes)
    compacted(lake)
    assert live_runner(lake.spark, lake.settings).prepare()
    lake.feed()
    right = expected_rows(PACK.records)
    found = lake.tables()
    assert {name for name in right if found[name] != right[name]} <= {"gold.remaining_stops"}
    assert_only_the_planted_is_wrong(lake)


def test_replay_is_compared_promoted_and_rolled_back_whatever_was_compacted_meanwhile(
    replayed_lake: Offline,
) -> None:
    lake = replayed_lake
    lake.feed()
    before = lake.tables()
    compacted(lake)
    found = compare.run(ReplayCompare(replay_id="fix", expect=DECLARED), lake.settings)
    assert {table.table for table in found.tables if table.differing} == {"gold.remaining_stops"}
    compacted(lake)
    promote.run(ReplayPromote(replay_id="fix"), lake.settings)
    assert lake.tables() == expected_rows(PACK.records)
    assert compacted(lake).replays == ("fix",)
    rollback.run(ReplayRollback(replay_id="fix"), lake.settings)
    assert lake.tables() == before
    assert_only_the_planted_is_wrong(lake)
