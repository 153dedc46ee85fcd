"""`pts replay rollback`: the tables as they were before a promotion, and what the log has told since."""

from pyspark.sql import SparkSession

from pipelines.commands import ReplayRollback
from pipelines.errors import NotFound
from pipelines.io.delta.lake import Lake
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.spark.spark_job import spark_job
from pipelines.replay import base
from pipelines.replay.promote import done_before, promoted
from pipelines.replay.swap import Stage, next_stage, totals
from pipelines.settings import Settings
from pipelines.state.exclusion import correcting
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Promoted, Promotion, Replay, Replays
from pipelines.state.snapshots import snapshot
from pipelines.tables import OPS_BATCHES, TABLES


def run(command: ReplayRollback, settings: Settings) -> Promoted:
    """Undoes a replay's newest promotion, as a promotion of its own: of tables that begin where the live ones were
    before it, with what the log has told since. Called again after it was cut off, it goes on; after it was done, it
    tells what was done.

    Raises:
        NotFound: The replay was never promoted, or another promotion stands that came later; or the versions before it
            are gone.
        AnotherWriter: Another command corrects rows.
        And what `pts replay promote` raises.
    """
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time(), correcting(settings.lake_root):
        replay = replays.load(command.replay_id)
        done = [each for each in replay.promotions if each.done_at]
        if not done:
            raise NotFound(f"The replay {replay.replay_id} was never promoted.")
        known = next((each for each in replays.all() if each.replay_id == done[-1].way_back), None)
        stage = next_stage(known, settings.lake_root) if known else Stage.APPROACH
        if known and stage is None:
            return done_before(known, settings.lake_root)
        if stage is Stage.APPROACH:
            raise_if_not_newest(replay, done[-1], settings.lake_root)
        with spark_job(settings, "roll back") as spark:
            back = _back(replay, done[-1], replays, spark, settings)
            return promoted(back, replays, spark, settings)


PROMOTIONS = f"SELECT batch_id, replay_id FROM {OPS_BATCHES.name} WHERE replay_id IS NOT NULL ORDER BY batch_id"


def raise_if_not_newest(replay: Replay, promotion: Promotion, lake_root: str) -> None:
    """Raises `NotFound` unless no later promotion stands: the way back would take that one back, too."""
    in_force: dict[str, tuple[int, str]] = {}
    for row in LakeReader(lake_root).query(PROMOTIONS).to_pylist():
        if not in_force.pop(row["replay_id"], None):  # it was the way back of one of them
            in_force[f"back-{row['batch_id']}"] = row["batch_id"], row["replay_id"]
    batch_id, replay_id = max(in_force.values(), default=(-1, ""))
    if batch_id != promotion.batch_id:
        newest = f"{replay_id}, by batch {batch_id}" if replay_id else "none any more"
        raise NotFound(
            f"The promotion of {replay.replay_id} by batch {promotion.batch_id} is not the newest that stands: that is "
            f"{newest}. Only the newest is rolled back."
        )


def _back(replay: Replay, promotion: Promotion, replays: Replays, spark: SparkSession, settings: Settings) -> Replay:
    """A replay that begins with the tables as they were; the one that an earlier call began, if there is one."""
    name = promotion.way_back
    for known in replays.all():
        if known.replay_id == name and known.base:
            return known
    live = Lake(spark, settings.lake_root)
    at, before = snapshot(live.root, promotion.way_back_to), Ledger(live).row(promotion.way_back_to)
    assert before is not None
    at.raise_if_missing(TABLES)
    back = base.replay_from(before, promotion.before, name, settings)
    replays.clear(name)  # one that was cut off before it was whole
    lake = Lake(spark, replays.root(name))
    base.link(lake, live, back)
    base.begin(lake, before, back, totals(live.root, before=before.batch_id + 1), at.expired_before)
    replays.save(back)
    return back
