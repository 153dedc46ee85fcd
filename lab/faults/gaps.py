"""Where within a batch the live job was when it was killed, as the lake shows it: by what is there, and what is not.

The look is taken when Python is gone. What its Java still does until it ends, too, may or may not be seen.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pipelines.graph import FLOWS

BETWEEN_BATCHES = "between two batches"
PLANNED = "planned, nothing written"
FILES = "a table's files written, not its commit"
LEDGER = "ledger written, not Spark's commit"
NOT_BEGUN = "before the first batch"

OF_TASKS = ", of a batch of several tasks"
"""What is added to a gap where it is one."""

CHECKPOINT = "_checkpoints/live"
IN_EACH_BATCH = {flow.name for flow in FLOWS if flow.catch_up_group is None}
"""Flows whose transactions have the number of the checkpoint's batch; the others have the number of the lake's."""

TABLES = tuple(
    f"{count} of the {len(IN_EACH_BATCH)} tables that each batch moves written, not the ledger"
    for count in range(1, len(IN_EACH_BATCH) + 1)
)
GAPS = (NOT_BEGUN, BETWEEN_BATCHES, PLANNED, FILES, *TABLES, LEDGER)


class Gaps:
    """Tells the gap of each kill of a lake's job.

    Args:
        lake: Its folder.
    """

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._told: set[Path] = set()

    def of_kill(self) -> str:
        """One of `GAPS`. A file without a commit is told once: it stays when the job has gone on."""
        left = {file for table in self._tables() for file in without_commit(table)}
        is_new = bool(left - self._told)
        self._told |= left
        if is_new:
            return FILES
        planned, committed = self._newest("offsets"), self._newest("commits")
        if planned is None:
            return NOT_BEGUN
        if planned == committed:
            return BETWEEN_BATCHES
        marks = {app_id for table in self._tables() for app_id, version in _transactions(table) if version == planned}
        checkpoint_id = json.loads((self._lake / CHECKPOINT / "metadata").read_text())["id"]
        written = {app_id.partition("/")[2] for app_id in marks if app_id.startswith(f"{checkpoint_id}/")}
        if "ledger" in written:
            return LEDGER
        count = len(written & IN_EACH_BATCH)
        return TABLES[count - 1] if count else PLANNED

    def _tables(self) -> Iterator[Path]:
        return (log.parent for log in self._lake.glob("*/*/_delta_log"))

    def _newest(self, log: str) -> int | None:
        names = (file.name for file in (self._lake / CHECKPOINT / log).glob("*"))
        return max((int(name) for name in names if name.isdigit()), default=None)


def without_commit(table: Path) -> set[Path]:
    """The data files of a table's folder that no version has ever named."""
    there = set(table.glob("*.parquet"))  # before the log is read: who still writes, commits what it has written
    return there - {table / unquote(action["add"]["path"]) for action in _actions(table) if "add" in action}


def _transactions(table: Path) -> Iterator[tuple[str, int]]:
    return ((action["txn"]["appId"], action["txn"]["version"]) for action in _actions(table) if "txn" in action)


def _actions(table: Path) -> Iterator[dict[str, Any]]:
    for commit in (table / "_delta_log").glob("[0-9]*.json"):
        yield from map(json.loads, commit.read_text().splitlines())
