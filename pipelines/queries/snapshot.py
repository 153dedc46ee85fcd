"""`pts snapshot`: the version of every table at one position of the log."""

from typing import Any

from pipelines.commands import Snapshot
from pipelines.settings import Settings
from pipelines.state.snapshots import snapshot
from pipelines.terminal.rendering import iso_utc


def run(command: Snapshot, settings: Settings) -> dict[str, Any]:
    """JSON-ready: the batch, when it was committed, and the Delta version of each table after it.

    Raises `NotFound` when there is no such batch, or the tables do not agree at it, or it can no longer be read.
    """
    found = snapshot(settings.lake_root, command.at_batch)
    return {
        "batch_id": found.batch_id,
        "committed_at": iso_utc(found.committed_at),
        "tables": dict(found.versions),
    }
