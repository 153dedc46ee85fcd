"""`pts snapshot`: the version of every table at one position of the log."""

from pipelines.commands import Snapshot as Command
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.snapshots import Snapshot, snapshot


def run(command: Command, settings: Settings) -> Snapshot:
    """The Delta version of each table after a batch: the one that is named, or the newest consistent one.

    Raises `NotFound` when there is no such batch, or the tables do not agree at it, or it can no longer be read.
    """
    with part("Reading the ledger"):
        return snapshot(settings.lake_root, command.at_batch)
