"""A replay takes the place of the live tables, is rolled back, and promoted again; beside a live job, and cut off."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.checks import verify as ledger_proof
from pipelines.commands import Backfill, ReplayBuild, ReplayCompare, ReplayPromote, ReplayRollback, Verify
from pipelines.errors import LakeMismatch, NotCompared, NotFound
from pipelines.graph import FLOWS, Flow
from pipelines.io.delta.lake import Lake
from pipelines.live.planner import live_runner
from pipelines.maintenance import backfill, common
from pipelines.replay import build, compare, promote, rollback
from pipelines.settings import Kafka
from pipelines.state.handover import Handover, HandoverRequest
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Promoted, Replays
from pipelines.state.snapshots import is_settled, snapshot
from tests.comparison import Rows, expected_rows
from tests.leases import writer_lease
from tests.replay.offline import (
    DECLARED,
    PACK,
    WRONG_FLOWS,
    Offline,
    assert_only_the_planted_is_wrong,
    connected,
    fed,
)


def test_only_what_was_compared_and_passed_is_promoted(replayed_lake: Offline) -> None:
    replays = Replays(replayed_lake.settings.lake_root)
    replays.save(replays.load("fix").model_copy(update={"comparison": None}))
    with pytest.raises(NotCompared, match="was not compared yet"):
        promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    compare.run(ReplayCompare(replay_id="fix"), replayed_lake.settings)
    with pytest.raises(NotCompared, match="differs from the live tables in what was not declared"):
        promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)


def test_promoted_tables_equal_the_oracle_and_so_do_those_after_a_rollback_and_another_promotion(
    replayed_lake: Offline,
) -> None:
    """A rollback brings the wrong rows back; what the log told since is added by the code of today."""
    before = replayed_lake.tables()
    assert before != expected_rows(replayed_lake.read())
    found = promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    assert replayed_lake.tables() == expected_rows(replayed_lake.read())
    corrected, right = sent_reports(replayed_lake), current_stops(replayed_lake.tables())
    assert corrected
    assert corrected == {number: stop for number, stop in right.items() if stop != current_stops(before)[number]}
    assert ledger_proof.run(Verify(), replayed_lake.settings).ledger_batch_id == found.batch_id

    assert promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings) == replace(found, pause_seconds=0.0)

    back = rollback.run(ReplayRollback(replay_id="fix"), replayed_lake.settings)
    assert replayed_lake.tables() == before
    assert rollback.run(ReplayRollback(replay_id="fix"), replayed_lake.settings) == replace(back, pause_seconds=0.0)
    assert sent_reports(replayed_lake) == {number: current_stops(before)[number] for number in corrected}
    assert_only_the_planted_is_wrong(replayed_lake)

    replayed_lake.feed()
    promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    assert replayed_lake.tables() == expected_rows(PACK.records)
    ledger_proof.run(Verify(), replayed_lake.settings)


def test_what_the_log_told_after_a_promotion_is_in_the_tables_after_its_rollback(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = connected(fed(spark, tmp_path, PACK.batches, -2, WRONG_FLOWS), monkeypatch)
    build.run(ReplayBuild(replay_id="fix"), lake.settings)
    compare.run(ReplayCompare(replay_id="fix", expect=DECLARED), lake.settings)
    promote.run(ReplayPromote(replay_id="fix"), lake.settings)
    lake.feed(-1)
    rollback.run(ReplayRollback(replay_id="fix"), lake.settings)
    lake.feed()
    right = expected_rows(PACK.records)
    found = lake.tables()
    assert {name for name in right if found[name] != right[name]} == {"gold.remaining_stops"}
    assert_only_the_planted_is_wrong(lake)


def current_stops(tables: dict[str, Rows]) -> dict[int, int | None]:
    return {row["tracking_number"]: row["current_stop_id"] for row in tables["gold.remaining_stops"]}


def sent_reports(lake: Offline) -> dict[int, int | None]:
    """What package-reports says of each package that it was told of since the last call."""
    sent = {int(key): json.loads(value or "null")["currentStopId"] for key, value in lake.sent}
    lake.sent.clear()
    return sent


@contextmanager
def delegated_promotion(lake: Offline) -> Iterator[tuple[Handover, HandoverRequest, Future[Promoted]]]:
    """A promotion that waits for the live job, whose side this is: the hand-over, what it asks, and the command."""
    with writer_lease(lake.settings.lake_root) as lease, ThreadPoolExecutor(1) as pool:
        job = Handover(lease)
        promotion = pool.submit(promote.run, ReplayPromote(replay_id="fix"), lake.settings)
        while (request := job.request) is None and not promotion.done():
            time.sleep(0.01)
        assert request is not None
        yield job, request, promotion


def test_live_job_does_the_last_part_of_a_promotion_and_reads_on(
    replayed_lake: Offline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "SETTLE_SECONDS", 0.0)
    with delegated_promotion(replayed_lake) as (job, request, promotion):
        replayed_lake.feed()  # a batch more, after the replay came near
        before = snapshot(replayed_lake.settings.lake_root)
        job.do(request, lambda: promote_only(replayed_lake))
        # The catch-up tables are swapped at an earlier batch than the others, and who needs one picture waits.
        assert snapshot(replayed_lake.settings.lake_root) == before
        assert not is_settled(replayed_lake.settings.lake_root)
        while not promotion.done():
            if (wish := job.request) and not wish.command:
                job.hand_over(Event())
        assert promotion.result().replay_id == "fix"
    assert snapshot(replayed_lake.settings.lake_root).batch_id > promotion.result().batch_id > before.batch_id
    assert replayed_lake.tables() == expected_rows(PACK.records)


@pytest.fixture(scope="module")
def overtaken_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Offline:
    lake = fed(spark, tmp_path_factory.mktemp("overtaken"), PACK.batches, -2, WRONG_FLOWS)
    with pytest.MonkeyPatch.context() as patch:
        connected(lake, patch)
        build.run(ReplayBuild(replay_id="fix"), lake.settings)
        compare.run(ReplayCompare(replay_id="fix", expect=DECLARED), lake.settings)
    lake.feed(-1, WRONG_FLOWS)
    return lake


@pytest.fixture
def overtaken(overtaken_once: Offline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offline:
    """Wrong tables and a replay that passed, after which the job read one more part; the last one is still to come."""
    return connected(overtaken_once.copy(tmp_path), monkeypatch)


def promote_only(lake: Offline) -> Promoted:
    """As the live job does, whose command was killed before it had all tables come up."""
    runner = live_runner(lake.spark, lake.settings)
    return promote.promote_with_lease(ReplayPromote(replay_id="fix"), runner, lake.settings)


def test_catch_up_tables_are_swapped_where_they_are_and_the_next_batches_bring_them_on(
    overtaken: Offline,
) -> None:
    batch_id = promote_only(overtaken).batch_id
    last = Ledger(Lake(overtaken.spark, overtaken.settings.lake_root)).last()
    assert last is not None
    fence = Replays(overtaken.settings.lake_root).load("fix").fence
    assert {last.tables[flow.into.name].position for flow in FLOWS if flow.catch_up_group and not is_bronze(flow)} == {
        fence
    }
    assert {last.tables[flow.into.name].position for flow in FLOWS if not flow.catch_up_group} == {batch_id}
    overtaken.feed()
    assert overtaken.tables() == expected_rows(PACK.records)
    ledger_proof.run(Verify(), overtaken.settings)


@pytest.mark.usefixtures("reports_are_large")
def test_large_reports_that_wait_are_brought_up_on_both_sides_before_the_swap(overtaken: Offline) -> None:
    """Else who follows package-reports would be told of what was before."""
    overtaken.feed()
    ledger = Ledger(Lake(overtaken.spark, overtaken.settings.lake_root))
    waits = ledger.last()
    assert waits is not None
    assert waits.tables["gold.remaining_stops"].position < waits.batch_id
    batch_id, right = promote_only(overtaken).batch_id, expected_rows(PACK.records)["gold.remaining_stops"]
    last, before = ledger.last(), ledger.row(batch_id - 1)
    assert last is not None
    assert last.tables["gold.remaining_stops"].position == batch_id
    assert before is not None
    assert before.tables["gold.remaining_stops"].position == before.batch_id
    assert overtaken.tables()["gold.remaining_stops"] == right
    told = sent_reports(overtaken)
    assert told
    assert told.items() <= {row["tracking_number"]: row["current_stop_id"] for row in right}.items()


def is_bronze(flow: Flow) -> bool:
    return flow.into.name.startswith("bronze.")


def test_way_back_leads_to_the_promotion_before_and_never_past_it(overtaken: Offline) -> None:
    before, batch_id = overtaken.tables(), promote_only(overtaken).batch_id
    back = rollback.run(ReplayRollback(replay_id="fix"), overtaken.settings)
    assert overtaken.tables()["gold.remaining_stops"] == before["gold.remaining_stops"]
    (promotion,) = Replays(overtaken.settings.lake_root).load(back.replay_id).promotions
    assert promotion.way_back_to > batch_id
    assert is_settled(overtaken.settings.lake_root)


def test_backfill_waits_until_the_promoted_tables_stand_at_one_batch(overtaken: Offline) -> None:
    promote_only(overtaken)
    day = datetime(2026, 3, 1, tzinfo=UTC)
    backfill.run(Backfill(begin=day, end=day + timedelta(days=1)), overtaken.settings)
    assert is_settled(overtaken.settings.lake_root)


def test_nothing_is_said_to_be_done_while_another_promotion_is_half_done(overtaken: Offline) -> None:
    promote_only(overtaken)
    replays = Replays(overtaken.settings.lake_root)
    promoted = replays.load("fix")
    half_done = promoted.promotions[-1].model_copy(update={"done_at": None})
    replays.save(promoted.model_copy(update={"replay_id": "other", "promotions": (half_done,)}))
    with pytest.raises(LakeMismatch, match="pts replay promote other"):
        promote.run(ReplayPromote(replay_id="fix"), overtaken.settings)
    replays.clear("other")
    rollback.run(ReplayRollback(replay_id="fix"), overtaken.settings)
    replays.save(promoted.model_copy(update={"promotions": (*promoted.promotions, half_done)}))
    with pytest.raises(LakeMismatch, match="pts replay promote fix"):
        rollback.run(ReplayRollback(replay_id="fix"), overtaken.settings)


def test_promotion_whose_command_was_killed_is_followed_up_when_it_is_given_again(overtaken: Offline) -> None:
    batch_id = promote_only(overtaken).batch_id
    assert not is_settled(overtaken.settings.lake_root)
    assert promote.run(ReplayPromote(replay_id="fix"), overtaken.settings).batch_id == batch_id
    assert is_settled(overtaken.settings.lake_root)
    assert overtaken.tables() == expected_rows(overtaken.read())


def test_what_the_live_job_refuses_is_what_the_command_says(replayed_lake: Offline) -> None:
    with delegated_promotion(replayed_lake) as (job, request, promotion):
        replayed_lake.crash(1)
        job.do(request, lambda: promote_only(replayed_lake))
        with pytest.raises(LakeMismatch, match="was cut off between tables"):
            promotion.result()


def test_replay_does_not_go_on_in_another_wire_format(replayed_lake: Offline) -> None:
    replayed_lake.feed()
    as_json = replayed_lake.settings.model_copy(update={"kafka": Kafka(ship_events_format="json")})
    with pytest.raises(NotCompared, match="ship-events: csv, ship-routes: csv; here it would go on"):
        promote.run(ReplayPromote(replay_id="fix"), as_json)


def test_rollback_whose_files_are_gone_is_refused_before_anything_is_made(replayed_lake: Offline) -> None:
    promote.run(ReplayPromote(replay_id="fix"), replayed_lake.settings)
    root = replayed_lake.settings.lake_root
    before = Replays(root).load("fix").promotions[-1].before["gold.remaining_stops"]
    (file, *_) = DeltaTable(f"{root}/gold/remaining_stops", version=before).file_uris()
    Path(file).unlink()
    with pytest.raises(NotFound, match="data files are gone"):
        rollback.run(ReplayRollback(replay_id="fix"), replayed_lake.settings)
    assert [path.name for path in Path(root, "_shadow").glob("back-*")] == []
