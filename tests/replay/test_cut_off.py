"""Whatever cuts a build or a promotion off, the same command goes on and the end is the same."""

from pathlib import Path

import pytest

from pipelines.checks import verify
from pipelines.commands import ReplayBuild, ReplayCompare, ReplayPromote, Verify
from pipelines.errors import LakeMismatch
from pipelines.io.delta.lake import Lake
from pipelines.live.resume import check_promotions
from pipelines.replay import build, compare, promote, swap
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.replay_records import Replays
from pipelines.tables import TABLES
from tests.comparison import expected_rows
from tests.replay.offline import PACK, Offline
from tests.saboteur import OF_A_SWAP, Saboteur


def test_build_that_is_cut_off_after_any_write_goes_on(
    lake: Offline, monkeypatch: pytest.MonkeyPatch, crash_every: int
) -> None:
    saboteur = Saboteur(monkeypatch, (Lake, "commit"))
    command = ReplayBuild(replay_id="again")
    left = Path(Replays(lake.settings.lake_root).root("again"), "silver", "left behind by a drop that was cut off")
    left.mkdir(parents=True)
    for _ in saboteur.crashes(lambda: build.run(command, lake.settings), crash_every):
        pass
    assert saboteur.limit > 8
    assert not left.exists()
    found = compare.run(ReplayCompare(replay_id="again"), lake.settings)
    assert found.verdict == "identical"


def test_promotion_that_is_cut_off_after_any_step_is_finished_and_the_live_job_waits_for_it(
    replayed_lake: Offline, monkeypatch: pytest.MonkeyPatch, crash_every: int
) -> None:
    lake = replayed_lake
    before = last_row(lake)
    monkeypatch.setattr(swap, "AT_ONCE", 1)
    saboteur = Saboteur(monkeypatch, *OF_A_SWAP)
    refused = 0
    for _ in saboteur.crashes(lambda: promote.run(ReplayPromote(replay_id="fix"), lake.settings), crash_every):
        if not Replays(lake.settings.lake_root).load("fix").under_way:
            continue
        with pytest.raises(LakeMismatch, match=r"pts replay promote fix"):
            check_promotions(lake.settings.lake_root)
        refused += 1
    assert refused * crash_every > 10
    check_promotions(lake.settings.lake_root)
    assert lake.tables() == expected_rows(lake.read())
    assert last_row(lake).batch_id == before.batch_id + 1
    assert verify.run(Verify(), lake.settings).ledger_batch_id == before.batch_id + 1
    live = Lake(lake.spark, lake.settings.lake_root)
    commits = {
        table.name: sum(
            change.transaction is not None
            for change in live.log(table).changes(after=before.tables[table.name].version)
        )
        for table in TABLES
        if table.name.startswith(("silver.", "gold."))
    }
    assert set(commits.values()) == {1}


@pytest.mark.parametrize("writes", [1, 3])
def test_lake_whose_job_was_cut_off_within_a_batch_is_not_promoted_before_that_is_repeated(
    replayed_lake: Offline, writes: int
) -> None:
    """Or Delta would take the repeat for done: what it wrote into silver is in no table any more."""
    replayed_lake.crash(writes)
    with pytest.raises(LakeMismatch, match="was cut off between tables"):
        promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    replayed_lake.feed()
    promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    assert replayed_lake.tables() == expected_rows(PACK.records)
    verify.run(Verify(), replayed_lake.settings)


def last_row(lake: Offline) -> LedgerRow:
    row = Ledger(Lake(lake.spark, lake.settings.lake_root)).last()
    assert row is not None
    return row
