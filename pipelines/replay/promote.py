"""`pts replay promote`: a replay's tables take the place of the live ones, one commit each, between two batches."""

import time
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pipelines.commands import ReplayPromote
from pipelines.engine.runner import LakeRunner
from pipelines.errors import NotCompared
from pipelines.io.delta.lake import Lake
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.log import ranges_between
from pipelines.io.spark.spark_job import spark_job
from pipelines.live.resume import check_promotions
from pipelines.maintenance.common import check, existing_lake, settle
from pipelines.replay.build import ReplayJob
from pipelines.replay.swap import begun, change_places, corrections, publish_changes, totals
from pipelines.settings import Settings
from pipelines.state.code_version import fingerprint
from pipelines.state.handover import handed_over
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.replay_records import Promoted, Replay, Replays, Step
from pipelines.state.snapshots import is_settled, snapshot
from pipelines.state.writer_lease import writer_code
from pipelines.tables import OPS_BATCHES

NEAR_SECONDS = 5.0
"""Once the replay comes up with the live job in less than this, the next stretch is so short that the job can wait."""

ROUNDS = 3
"""So often it tries, before the job has to wait for longer."""

PATIENCE_SECONDS = 600.0
"""How long the live job may take for its batch, and for this."""


def run(command: ReplayPromote, settings: Settings) -> Promoted:
    """Promotes a replay whose last comparison passed, or finishes a promotion that was cut off. Of one whose tables are
    the live ones already, it tells what was done: the command may have died while the live job did it.

    The live job may run: the replay first follows it up to almost where it is; then the job itself, whose Java is warm,
    replays the last stretch between two batches, has the tables change places, and goes on from there. In that stretch,
    tables that follow do not move: they change places where they stand, and come up with the job's next batches, before
    this returns. Readers see each table before or after its one commit, and who follows package-reports is sent what
    changes. Bronze stays, unless it was found to differ: it is what was read, not made.

    Raises:
        NotCompared: Its tables, or the live ones, are not those that were compared, or the comparison did not pass; or
            this code, or that of the live job, is not the one that built it.
        LakeMismatch: The live tables are not what the ledger says, or a batch was cut off.
        AnotherWriter: The live job did not come to it within ten minutes, or another command has the lake.
        And what `pts replay build` raises.
    """
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time():
        replay = replays.load(command.replay_id)
        found = already_promoted(replay, settings.lake_root)
        if found and is_settled(settings.lake_root):
            return found
        if not found and not replay.under_way:
            check_compared(replay, replays, settings)
        with spark_job(settings, "promote") as spark:
            return promoted(replay, replays, spark, settings)


def promoted(replay: Replay, replays: Replays, spark: SparkSession, settings: Settings) -> Promoted:
    """The same for one that may be promoted.

    Raises `NotCompared` while a live job runs that is not this code.
    """
    if not (found := already_promoted(replay, settings.lake_root)):
        if not replay.under_way:
            _come_near(replay, replays, spark, settings)
        check_live_code(settings)
        last_part = ReplayPromote(replay_id=replay.replay_id)
        with handed_over(settings.lake_root, last_part, PATIENCE_SECONDS) as done:
            found = done or promote_last_part(last_part, existing_lake(spark, settings), settings)
    settle(spark, settings)
    return found


def promote_last_part(command: ReplayPromote, runner: LakeRunner, settings: Settings) -> Promoted:
    """By who holds the lake: what is left between the replay and the live tables, then these change places."""
    began, replays = time.monotonic(), Replays(settings.lake_root)
    replay = replays.load(command.replay_id)
    if found := already_promoted(replay, settings.lake_root):
        return found
    spark = runner.spark
    live, shadow = Lake(spark, settings.lake_root), Lake(spark, replays.root(replay.replay_id))
    ledger, made = Ledger(live), Ledger(shadow)
    if replay.under_way:
        last = ledger.last()
    else:
        check(runner)  # refuses a batch that was cut off: its repeat would write nothing then
        if not is_settled(settings.lake_root):
            runner.catch_up()  # or the way back would lead to before an earlier promotion
        runner.end_deferral()  # or who follows package-reports would be sent reports of before
        last = runner.last
        assert last is not None
        replay = _follow(replay, last, replays, spark, settings, is_last_part=True)
    assert last is not None
    if not replay.under_way or last.batch_id < replay.under_way.batch_id:
        counts = corrections(totals(live.root), totals(shadow.root))  # refuses before anything is changed
        if not replay.under_way:
            replay = begun(replay, last, made, live.root)
            replays.save(replay)
        publish_changes(replay, last, live, shadow, settings)
        last = change_places(replay, live, shadow, ledger, last, counts)
    assert replay.under_way is not None
    done = replay.under_way.model_copy(update={"done_at": datetime.now(UTC)})
    replays.save(replay.model_copy(update={"promotions": (*replay.promotions[:-1], done)}))
    versions = {name: state.version for name, state in last.tables.items()}
    return Promoted(replay.replay_id, last.batch_id, versions, round(time.monotonic() - began, 2))


NEWEST_PROMOTION = f"""
    SELECT batch_id, tables FROM {OPS_BATCHES.name} WHERE replay_id IS NOT NULL ORDER BY batch_id DESC LIMIT 1
"""


def already_promoted(replay: Replay, lake_root: str) -> Promoted | None:
    """What was done, if the replay's promotion is done and no other one came after it.

    Raises `LakeMismatch` when another one was cut off since: a rollback of it, or the promotion that it was to undo.
    """
    if replay.under_way or not replay.promotions:
        return None
    newest = LakeReader(lake_root).query(NEWEST_PROMOTION).to_pylist()
    if not newest or newest[0]["batch_id"] != replay.promotions[-1].batch_id:
        return None
    check_promotions(lake_root)
    versions = {state["table_name"]: state["version"] for state in newest[0]["tables"]}
    return Promoted(replay.replay_id, newest[0]["batch_id"], versions, 0.0)


def check_compared(replay: Replay, replays: Replays, settings: Settings) -> None:
    """Raises `NotCompared` unless these very tables were compared, and passed."""
    again = f"`pts replay compare {replay.replay_id}`"
    found = replay.comparison
    if found is None or not found.has_passed:
        fault = "was not compared yet" if found is None else "differs from the live tables in what was not declared"
        raise NotCompared(f"The replay {replay.replay_id} {fault}: {again}.")
    if snapshot(settings.lake_root, replay.fence).versions != found.live_versions:
        raise NotCompared(f"The live tables at batch {replay.fence} are others than those that were compared: {again}.")
    if snapshot(replays.root(replay.replay_id), replay.built).versions != found.shadow_versions:
        raise NotCompared(f"The tables of {replay.replay_id} are others than those that were compared: {again}.")
    if replay.code != fingerprint():
        raise NotCompared(f"The replay {replay.replay_id} was built by other code than this: build another.")
    check_live_code(settings)


def check_live_code(settings: Settings) -> None:
    """Raises `NotCompared` while a live job runs that is not this code."""
    if writer_code(settings.lake_root) not in (None, fingerprint()):
        raise NotCompared(
            "The live job runs other code than this: it would go on in its own way. Start it anew with this code."
        )


def _come_near(replay: Replay, replays: Replays, spark: SparkSession, settings: Settings) -> None:
    """Brings the replay so near to the live job that the rest takes seconds."""
    ledger = Ledger(Lake(spark, settings.lake_root))
    for _ in range(ROUNDS):
        began, last = time.monotonic(), ledger.last()
        assert last is not None
        replay = _follow(replay, last, replays, spark, settings)
        if time.monotonic() - began < NEAR_SECONDS:
            break


def _follow(
    replay: Replay,
    last: LedgerRow,
    replays: Replays,
    spark: SparkSession,
    settings: Settings,
    *,
    is_last_part: bool = False,
) -> Replay:
    """The replay, brought to where the live job was at a row of its ledger; in the last part, without what follows."""
    reached = replay.steps[-1].end if replay.steps else replay.begin
    if any(part.size for part in ranges_between(reached, last.end_offsets)):
        replay = replay.model_copy(
            update={"steps": (*replay.steps, Step(end=last.end_offsets, batch_id=last.batch_id))}
        )
        replays.save(replay)
    job = ReplayJob(spark, settings, replay, replays.root(replay.replay_id))
    job.run(is_last_part=is_last_part)
    return replay
