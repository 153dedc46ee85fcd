"""The live job's heartbeat: a small file beside the tables, rewritten about once a second."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pipelines.errors import LakeUnavailable
from pipelines.io.storage.files import files_at

FILE = "_live.heartbeat"


def beat(lake_root: str, told: Mapping[str, Any]) -> None:
    """Leaves word that the job is alive. Its time is `at`, ISO 8601.

    Raises `LakeUnavailable` when the lake cannot be written.
    """
    try:
        files_at(lake_root).write(FILE, json.dumps(told))
    except OSError as error:
        raise LakeUnavailable(
            f"The heartbeat {lake_root}/{FILE} cannot be written: {error.strerror}. Check the disk and PTS_LAKE."
        ) from error


def last_beat(lake_root: str) -> dict[str, Any] | None:
    """The last word, with `at` as a time; None when there is none."""
    try:
        told: dict[str, Any] = json.loads(files_at(lake_root).read(FILE))
    except FileNotFoundError:
        return None
    return told | {"at": datetime.fromisoformat(told["at"])}
