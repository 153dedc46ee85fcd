"""The live job's heartbeat: a small file beside the tables, rewritten about once a second."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.errors import LakeUnavailable
from pipelines.io.processes.atomic_file import write_whole


def beat(lake_root: str, told: Mapping[str, Any]) -> None:
    """Leaves word that the job is alive, in a lake that is a folder. Its time is `at`, ISO 8601.

    Raises `LakeUnavailable` when the folder cannot be written.
    """
    if "://" in lake_root:
        return
    try:
        write_whole(_path(lake_root), json.dumps(told))
    except OSError as error:
        raise LakeUnavailable(
            f"The heartbeat {_path(lake_root)} cannot be written: {error.strerror}. Check the disk and PTS_LAKE."
        ) from error


def last_beat(lake_root: str) -> dict[str, Any] | None:
    """The last word, with `at` as a time; None when there is none."""
    try:
        told: dict[str, Any] = json.loads(_path(lake_root).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return told | {"at": datetime.fromisoformat(told["at"])}


def _path(lake_root: str) -> Path:
    return Path(lake_root) / "_live.heartbeat"
