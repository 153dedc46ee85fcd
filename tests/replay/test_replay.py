"""Correcting history: a replay is planned, built and compared, on a real lake and a log in memory."""

import pytest
from deltalake import DeltaTable

from pipelines.commands import ReplayBuild, ReplayCompare, ReplayPlan, ReplayVerify
from pipelines.errors import InvalidInput, LogTruncated, NotFound, UndeclaredDifference
from pipelines.replay import build, compare, plan, verify
from pipelines.state.replay_records import Replays
from tests.comparison import expected_rows
from tests.replay.offline import DECLARED, WRONG_COLUMNS, Offline


def test_replay_of_a_healthy_lake_is_identical_and_is_dropped(lake: Offline) -> None:
    found = verify.run(ReplayVerify(), lake.settings)
    assert found.verdict == "identical"
    assert all(table.live_checksum == table.shadow_checksum for table in found.tables)
    assert {table.table: table.live_rows for table in found.tables}["silver.ship_events"] > 0
    assert Replays(lake.settings.lake_root).all() == []


@pytest.mark.parametrize("size", [90, 10_000])
def test_replay_in_batches_of_another_size_is_identical(lake: Offline, size: int) -> None:
    replay = lake.settings.replay.model_copy(update={"max_records_per_batch": size})
    assert verify.run(ReplayVerify(), lake.settings.model_copy(update={"replay": replay})).verdict == "identical"


def test_replay_that_is_not_at_its_as_of_batch_is_not_compared(lake: Offline, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(build.ReplayJob, "run", lambda *_: None)
        patch.setattr(build.ReplayJob, "is_done", False)
        build.run(ReplayBuild(replay_id="early"), lake.settings)
    with pytest.raises(NotFound, match="pts replay build early"):
        compare.run(ReplayCompare(replay_id="early"), lake.settings)


def test_declared_difference_that_names_nothing_is_refused(lake: Offline) -> None:
    with pytest.raises(InvalidInput, match=r"gold\.remaining_stops\.town is no table and no column"):
        compare.run(ReplayCompare(replay_id="x", expect=("gold.remaining_stops.town",)), lake.settings)
    with pytest.raises(InvalidInput, match="is no folder"):
        compare.run(ReplayCompare(replay_id="x", html="/nowhere/at/all.html"), lake.settings)


def test_what_kafka_deleted_is_replayed_from_bronze(lake: Offline) -> None:
    lake.begin = {
        topic: {number: end // 2 for number, end in parts.items()} for topic, parts in lake.offsets("end").items()
    }
    found = plan.run(ReplayPlan(), lake.settings)
    assert {source.source for source in found.sources} == {"bronze", "kafka"}
    assert verify.run(ReplayVerify(), lake.settings).verdict == "identical"


def test_gap_in_log_and_bronze_is_refused(lake: Offline) -> None:
    lake.begin = {"ship-events": {0: 1}}
    table = DeltaTable(f"{lake.settings.lake_root}/bronze/ship_events")
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    table.delete("kafka_offset = 0")
    with pytest.raises(LogTruncated, match=r"bronze\.ship_events"):
        plan.run(ReplayPlan(), lake.settings)


def test_comparison_names_exactly_the_wrong_rows_and_passes_when_they_are_declared(replayed_lake: Offline) -> None:
    found = compare.run(ReplayCompare(replay_id="fix"), replayed_lake.settings)
    (reports,) = (table for table in found.tables if table.differing)
    live = {row["tracking_number"]: row for row in replayed_lake.tables()[reports.table]}
    right = {row["tracking_number"]: row for row in expected_rows(replayed_lake.read())[reports.table]}
    wrong = {number for number in right if live[number] != right[number]}
    assert wrong, "the bug shows"
    assert (reports.table, reports.missing, reports.extra, reports.changed) == (
        "gold.remaining_stops",
        0,
        0,
        len(wrong),
    )
    assert {sample.key["tracking_number"] for sample in reports.samples} <= wrong
    assert set(reports.columns) == set(WRONG_COLUMNS)
    with pytest.raises(UndeclaredDifference, match=r"gold\.remaining_stops"):
        compare.raise_if_undeclared(found)
    assert compare.run(ReplayCompare(replay_id="fix", expect=DECLARED[:1]), replayed_lake.settings).undeclared == len(
        wrong
    )
    compare.raise_if_undeclared(compare.run(ReplayCompare(replay_id="fix", expect=DECLARED), replayed_lake.settings))
