"""`pts replay list` and `pts replay drop`."""

from pipelines.commands import ReplayDrop
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.replay_records import Replay, Replays


def listed(settings: Settings) -> list[Replay]:
    """The replays of the lake, oldest first. Raises `InvalidInput` for a lake that is no folder."""
    return Replays(settings.lake_root).all()


def drop(command: ReplayDrop, settings: Settings) -> None:
    """Deletes a replay with its tables.

    Raises `NotFound` when there is none of that name, `LakeMismatch` when its promotion was cut off, `AnotherWriter`
    while a command works on a replay.
    """
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time(), part(f"Deleting {command.replay_id}"):
        replays.drop(command.replay_id)
