"""Whatever cuts a build or a promotion off, the same command goes on and the end is the same."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import ReplayBuild, ReplayCompare, ReplayPromote, Verify
from pipelines.errors import LakeMismatch
from pipelines.io import delta_rs
from pipelines.io.lake import Lake
from pipelines.io.ledger import Ledger, LedgerRow
from pipelines.io.replays import Replays
from pipelines.jobs import verify
from pipelines.jobs.position import check_promotions
from pipelines.jobs.replay import build, compare, promote, publication
from pipelines.tables import TABLES
from tests.batches import Crashed
from tests.comparison import expected_rows
from tests.jobs.replay.offline import PACK, Offline, offline, planted_bug


class Saboteur:
    """Ends the process after so many calls of certain functions: after what they do is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *targets: tuple[Any, str]) -> None:
        self._calls = self._limit = 0
        for owner, name in targets:
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            self._calls += 1
            if self._calls == self._limit:
                raise Crashed
            return result

        return watched

    def crashes(self, run: Callable[[], object], step: int) -> Iterator[int]:
        """Runs it again and again, each time a step further, until it comes to its end; the calls before each crash."""
        while True:
            self._calls, self._limit = 0, self._limit + step
            try:
                run()
                return
            except Crashed:
                yield self._limit


def test_build_that_is_cut_off_after_any_write_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = offline(spark, tmp_path, PACK.batches, monkeypatch)
    saboteur = Saboteur(monkeypatch, (Lake, "_commit_of"))
    command = ReplayBuild(replay_id="again")
    crashes = list(saboteur.crashes(lambda: build.run(command, lake.settings), step=1))
    assert len(crashes) > 8
    found = compare.run(ReplayCompare(replay_id="again"), lake.settings)
    assert found.verdict == "identical"


def test_promotion_that_is_cut_off_after_any_step_is_finished_and_the_live_job_waits_for_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with planted_bug():
        lake = offline(spark, tmp_path, PACK.batches, monkeypatch)
    build.run(ReplayBuild(replay_id="fix"), lake.settings)
    compare.run(ReplayCompare(replay_id="fix", expect=("gold.remaining_stops",)), lake.settings)
    before = last_row(lake)
    saboteur = Saboteur(
        monkeypatch,
        (Replays, "save"),
        (publication, "publish"),
        (delta_rs, "_commit"),
        (delta_rs, "take_over"),
        (Ledger, "append"),
    )
    refused = 0
    for _ in saboteur.crashes(lambda: promote.run(ReplayPromote(replay_id="fix"), lake.settings), step=1):
        if not Replays(lake.settings.lake_root).load("fix").under_way:
            continue
        with pytest.raises(LakeMismatch, match=r"pts replay promote fix"):
            check_promotions(lake.settings.lake_root)
        refused += 1
    assert refused > 10
    check_promotions(lake.settings.lake_root)
    assert lake.tables() == expected_rows(PACK.records)
    assert last_row(lake).batch_id == before.batch_id + 1
    assert verify.run(Verify(), lake.settings).ledger_batch_id == before.batch_id + 1
    live = Lake(spark, lake.settings.lake_root)
    commits = {
        table.name: sum(
            change.transaction is not None
            for change in live.log(table).changes(after=before.tables[table.name].version)
        )
        for table in TABLES
        if table.name.startswith(("silver.", "gold."))
    }
    assert set(commits.values()) == {1}


def last_row(lake: Offline) -> LedgerRow:
    row = Ledger(lake.spark, Lake(lake.spark, lake.settings.lake_root)).last()
    assert row is not None
    return row
