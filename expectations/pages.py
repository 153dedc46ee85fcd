"""Where the pages of runs are: a folder for each, of which the newest are kept."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

FOLDER = re.compile(r"\d{8}T\d{12}Z-batch-\d+")


def folder_of(pages: Path, checked_at: datetime, batch_id: int) -> Path:
    """The folder of a run. In the order of their names, the newest is the last."""
    return pages / f"{checked_at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}-batch-{batch_id}"


def keep_newest(pages: Path, count: int) -> None:
    """Deletes the folders of all runs but the newest; nothing else."""
    there = sorted(path for path in pages.iterdir() if FOLDER.fullmatch(path.name))
    for path in there[:-count]:
        shutil.rmtree(path)
