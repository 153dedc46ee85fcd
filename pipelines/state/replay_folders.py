"""Where a lake's replays are: each is a folder `$PTS_LAKE/_shadow/<name>`, with its record `replay.json`."""

from pathlib import Path

RECORD_FILE = "replay.json"


def replays_root(lake_root: str) -> Path:
    """The folder of all replays of a lake that is a folder."""
    return Path(lake_root) / "_shadow"


def replay_names(lake_root: str) -> list[str]:
    """Names of the replays that have a record, whatever it says; none in a lake that is no folder."""
    return sorted(path.parent.name for path in replays_root(lake_root).glob(f"*/{RECORD_FILE}"))
