"""`pts replay verify`: the proof that the tables are what the log says."""

from dataclasses import replace

from pipelines.code_version import fingerprint
from pipelines.commands import ReplayBuild, ReplayCompare, ReplayDrop, ReplayVerify
from pipelines.errors import NotFound
from pipelines.replay import build, compare, shadows
from pipelines.replay.compared import Compared
from pipelines.settings import Settings
from pipelines.state.replay_records import Replay, Replays
from pipelines.state.snapshots import newest_promotion, snapshot


def run(command: ReplayVerify, settings: Settings) -> Compared:
    """Replays the log up to the as-of batch and compares; the replay is dropped when nothing differs, and kept
    otherwise, in place of those that differed before: each night's would be one more copy of the lake.

    Without an as-of batch, one that was cut off is finished, if this code began it. One whose live tables are gone, or
    were replaced by a promotion since, is dropped.

    Raises what `pts replay build` and `pts replay compare` raise.
    """
    _drop_outdated(settings)
    cut_off = None if command.at_batch is not None else _cut_off(settings)
    fence = snapshot(settings.lake_root, command.at_batch).batch_id if cut_off is None else cut_off
    replay_id = _replay_id(fence)
    build.run(ReplayBuild(replay_id=replay_id, at_batch=fence), settings)
    found = compare.run(ReplayCompare(replay_id=replay_id), settings)
    if found.differing:
        for other in _of_this_code(settings):
            if other.replay_id != replay_id and _differs(other):
                shadows.drop(ReplayDrop(replay_id=other.replay_id), settings)
        return found
    shadows.drop(ReplayDrop(replay_id=replay_id), settings)
    return replace(found, page=None)


def _drop_outdated(settings: Settings) -> None:
    promoted_at = newest_promotion(settings.lake_root)
    for replay in _of_this_code(settings):
        is_of_replaced = promoted_at is not None and replay.fence < promoted_at
        if not _differs(replay) and (is_of_replaced or not _is_readable(replay.fence, settings)):
            shadows.drop(ReplayDrop(replay_id=replay.replay_id), settings)


def _is_readable(batch_id: int, settings: Settings) -> bool:
    try:
        snapshot(settings.lake_root, batch_id)
    except NotFound:
        return False
    return True


def _replay_id(fence: int) -> str:
    return f"verify-{fence}"


def _cut_off(settings: Settings) -> int | None:
    """The as-of batch of the newest that has no verdict yet, or whose good one came just before the end."""
    return max((replay.fence for replay in _of_this_code(settings) if not _differs(replay)), default=None)


def _differs(replay: Replay) -> bool:
    return bool(replay.comparison and replay.comparison.differing)


def _of_this_code(settings: Settings) -> list[Replay]:
    """The replays that this command made with this code, and nobody promoted."""
    return [
        replay
        for replay in Replays(settings.lake_root).all()
        if replay.replay_id == _replay_id(replay.fence) and replay.code == fingerprint() and not replay.promotions
    ]
