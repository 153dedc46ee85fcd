"""Where a lake's replays are: each is a folder `$PTS_LAKE/_shadow/<name>`, with its record `replay.json`."""

from pipelines.io.storage.files import files_at
from pipelines.lake_root import replays_root

RECORD_FILE = "replay.json"


def replay_names(lake_root: str) -> list[str]:
    """Names of the replays that have a record, whatever it says."""
    files = files_at(replays_root(lake_root))
    folders = (entry.name for entry in files.entries() if entry.is_folder)
    return sorted(name for name in folders if files.exists(f"{name}/{RECORD_FILE}"))
