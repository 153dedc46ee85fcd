"""How far the replays of a lake are, by their records and their own ledgers."""

from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import Offsets
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Replay, Replays
from pipelines.tables import OPS_BATCHES


def replay_progress(lake_root: str) -> dict[str, tuple[int, int]]:
    """By a replay's name: the offsets of the log that it covers, and those of them that its batches have read."""
    replays = Replays(lake_root)
    return {
        replay.replay_id: (_between(replay, replay.steps[-1].end), _between(replay, _reached(replays, replay)))
        for replay in replays.all()
        if replay.steps
    }


def _reached(replays: Replays, replay: Replay) -> Offsets:
    """Where its tables are."""
    lake = Lake(None, replays.root(replay.replay_id))
    last = Ledger(lake).last() if lake.exists(OPS_BATCHES) else None
    return last.end_offsets if last else replay.begin


def _between(replay: Replay, end: Offsets) -> int:
    return sum(
        offset - replay.begin.get(topic, {}).get(partition, 0)
        for topic, partitions in end.items()
        for partition, offset in partitions.items()
    )
