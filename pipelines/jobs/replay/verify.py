"""`pts replay verify`: the proof that the tables are what the log says."""

from dataclasses import replace

from pipelines.commands import ReplayBuild, ReplayCompare, ReplayDrop, ReplayVerify
from pipelines.io.fingerprint import fingerprint
from pipelines.io.replays import Replay, Replays
from pipelines.io.snapshots import snapshot
from pipelines.jobs.replay import build, compare, shadows
from pipelines.jobs.replay.compare import Compared
from pipelines.settings import Settings


def run(command: ReplayVerify, settings: Settings) -> Compared:
    """Replays the log up to the fence and compares; the replay is dropped when nothing differs, and kept otherwise, in
    place of those that differed before: each night's would be one more copy of the lake.

    Without a fence, one that was cut off is finished, if this code began it.

    Raises what `pts replay build` and `pts replay compare` raise.
    """
    cut_off = None if command.fence is not None else _cut_off(settings)
    fence = snapshot(settings.lake_root, command.fence).batch_id if cut_off is None else cut_off
    replay_id = _replay_id(fence)
    build.run(ReplayBuild(replay_id=replay_id, fence=fence), settings)
    found = compare.run(ReplayCompare(replay_id=replay_id), settings)
    if found.differing:
        for other in _of_this_code(settings):
            if other.replay_id != replay_id and other.comparison and other.comparison.differing:
                shadows.drop(ReplayDrop(replay_id=other.replay_id), settings)
        return found
    shadows.drop(ReplayDrop(replay_id=replay_id), settings)
    return replace(found, page=None)


def _replay_id(fence: int) -> str:
    return f"verify-{fence}"


def _cut_off(settings: Settings) -> int | None:
    """The fence of the newest that has no verdict yet, or whose good one came just before the end."""
    fences = [
        replay.fence
        for replay in _of_this_code(settings)
        if replay.comparison is None or not replay.comparison.differing
    ]
    return max(fences, default=None)


def _of_this_code(settings: Settings) -> list[Replay]:
    """Those that this command made, and nobody promoted."""
    return [
        replay
        for replay in Replays(settings.lake_root).all()
        if replay.replay_id == _replay_id(replay.fence) and replay.code == fingerprint() and not replay.promotions
    ]
