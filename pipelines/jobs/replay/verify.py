"""`pts replay verify`: the proof that the tables are what the log says."""

from dataclasses import replace

from pipelines.commands import ReplayBuild, ReplayCompare, ReplayDrop, ReplayVerify
from pipelines.io.snapshots import snapshot
from pipelines.jobs.replay import build, compare, shadows
from pipelines.jobs.replay.compare import Compared
from pipelines.settings import Settings


def run(command: ReplayVerify, settings: Settings) -> Compared:
    """Replays the log up to the fence and compares; the replay is dropped when nothing differs, and kept otherwise.

    Raises what `pts replay build` and `pts replay compare` raise.
    """
    fence = snapshot(settings.lake_root, command.fence).batch_id
    replay_id = f"verify-{fence}"
    build.run(ReplayBuild(replay_id=replay_id, fence=fence), settings)
    found = compare.run(ReplayCompare(replay_id=replay_id), settings)
    if found.differing:
        return found
    shadows.drop(ReplayDrop(replay_id=replay_id), settings)
    return replace(found, html=None)
