"""Where within a batch the live job was when it was killed, as the lake shows it: by what is there, and what is not.

The look is taken when Python is gone. What its Java still does until it ends, too, may or may not be seen.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pipelines.graph import FLOWS
from pipelines.io.storage.files import files_at

BETWEEN_BATCHES = "between two batches"
PLANNED = "planned, nothing written"
FILES = "a table's files written, not its commit"
LEDGER = "ledger written, not Spark's commit"
NOT_BEGUN = "before the first batch"

OF_TASKS = ", of a batch of several tasks"
"""What is added to a gap where it is one."""

CHECKPOINT = "_checkpoints/live"
COMMIT = re.compile(r"\d{20}\.json")
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
        root: The lake's.
    """

    def __init__(self, root: str) -> None:
        self._root, self._files = root, files_at(root)
        self._told: set[str] = set()

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
        checkpoint_id = json.loads(self._files.read(f"{CHECKPOINT}/metadata"))["id"]
        written = {app_id.partition("/")[2] for app_id in marks if app_id.startswith(f"{checkpoint_id}/")}
        if "ledger" in written:
            return LEDGER
        count = len(written & IN_EACH_BATCH)
        return TABLES[count - 1] if count else PLANNED

    def _tables(self) -> Iterator[str]:
        """Their roots."""
        for schema in self._files.entries():
            for table in self._files.entries(schema.name) if schema.is_folder else ():
                if self._files.entries(f"{schema.name}/{table.name}/_delta_log"):
                    yield f"{self._root}/{schema.name}/{table.name}"

    def _newest(self, log: str) -> int | None:
        names = (entry.name for entry in self._files.entries(f"{CHECKPOINT}/{log}"))
        return max((int(name) for name in names if name.isdigit()), default=None)


def without_commit(table: str) -> set[str]:
    """The data files below a table's root that no version has ever named."""
    there = data_files(table)  # before the log is read: who still writes, commits what it has written
    return there - {f"{table}/{unquote(action['add']['path'])}" for action in _actions(table) if "add" in action}


def data_files(table: str) -> set[str]:
    """All of them."""
    return {f"{table}/{entry.name}" for entry in files_at(table).entries() if entry.name.endswith(".parquet")}


def _transactions(table: str) -> Iterator[tuple[str, int]]:
    return ((action["txn"]["appId"], action["txn"]["version"]) for action in _actions(table) if "txn" in action)


def _actions(table: str) -> Iterator[dict[str, Any]]:
    files = files_at(f"{table}/_delta_log")
    for commit in (entry.name for entry in files.entries() if COMMIT.fullmatch(entry.name)):
        yield from map(json.loads, files.read(commit).splitlines())
