"""`pts replay promote`: a replay's tables take the place of the live ones, one commit each, between two batches."""

import time
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.code_version import fingerprint
from pipelines.commands import ReplayPromote
from pipelines.engine.runner import LakeRunner
from pipelines.errors import NotCompared
from pipelines.io.delta.lake import Lake
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.spark.spark_job import spark_job
from pipelines.maintenance.common import existing_lake, settle
from pipelines.progress import part
from pipelines.replay.build import caught_up
from pipelines.replay.swap import Stage, Swap, next_stage
from pipelines.settings import Settings
from pipelines.state.handover import handed_over
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Promoted, Replay, Replays
from pipelines.state.snapshots import snapshot
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
    replays the last stretch between two batches, swaps the tables, and goes on from there. In that stretch,
    catch-up tables do not move: they are swapped where they are, and come up with the job's next batches, before
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
        stage = next_stage(replay, settings.lake_root)
        if stage is None:
            return done_before(replay, settings.lake_root)
        if stage is Stage.APPROACH:
            check_compared(replay, replays, settings)
        with spark_job(settings, "promote") as spark:
            return promoted(replay, replays, spark, settings)


def promoted(replay: Replay, replays: Replays, spark: SparkSession, settings: Settings) -> Promoted:
    """Promotes one that may be: does the stages that are left, those with the lease in the live job if one runs.

    Raises `NotCompared` while a live job runs that is not this code.
    """
    stage = next_stage(replay, settings.lake_root)
    if stage is Stage.APPROACH:
        approach(replay, replays, spark, settings)
    if stage in (None, Stage.SETTLE):
        found = done_before(replay, settings.lake_root)
    else:
        check_live_code(settings)
        command = ReplayPromote(replay_id=replay.replay_id)
        with handed_over(settings.lake_root, command, PATIENCE_SECONDS) as done:
            found = done or promote_with_lease(command, existing_lake(spark, settings), settings)
    settle(spark, settings)
    return found


def approach(replay: Replay, replays: Replays, spark: SparkSession, settings: Settings) -> None:
    """The stage of that name."""
    ledger = Ledger(Lake(spark, settings.lake_root))
    for _ in range(ROUNDS):
        began, last = time.monotonic(), ledger.last()
        assert last is not None
        replay = caught_up(replay, last, replays, spark, settings)
        if time.monotonic() - began < NEAR_SECONDS:
            break


def promote_with_lease(command: ReplayPromote, runner: LakeRunner, settings: Settings) -> Promoted:
    """The stages for which the writer lease is needed, by who holds it."""
    began, swap = time.monotonic(), Swap(command.replay_id, runner, settings)
    first = next_stage(swap.replay, settings.lake_root)
    if first in (None, Stage.SETTLE):
        return done_before(swap.replay, settings.lake_root)
    for stage, do in swap.stages.items():
        if stage >= first:
            with part(f"Promotion: {stage.name.lower().replace('_', ' ')}"):
                do()
    pause_seconds = round(time.monotonic() - began, 2)
    return replace(done_before(swap.replay, settings.lake_root), pause_seconds=pause_seconds)


def done_before(replay: Replay, lake_root: str) -> Promoted:
    """What an earlier call did, as the ledger says."""
    batch_id = replay.promotions[-1].batch_id
    (row,) = (
        LakeReader(lake_root).query(f"SELECT tables FROM {OPS_BATCHES.name} WHERE batch_id = ?", [batch_id]).to_pylist()
    )
    versions = {state["table_name"]: state["version"] for state in row["tables"]}
    return Promoted(replay.replay_id, batch_id, versions, 0.0)


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
            "The live job runs other code than this: it would go on in its own way. Restart it with this code."
        )
