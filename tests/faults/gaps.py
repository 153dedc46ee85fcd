"""Where within a batch the live job was when it was killed, as the lake shows it: by what is there, and what is not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

BETWEEN_BATCHES = "between two batches"
PLANNED = "planned, nothing written"
FILES = "a table's files written, not its commit"
TABLES = "some tables written, not the ledger"
LEDGER = "ledger written, not Spark's commit"
NOT_BEGUN = "before the first batch"
GAPS = (NOT_BEGUN, BETWEEN_BATCHES, PLANNED, FILES, TABLES, LEDGER)

CHECKPOINT = "_checkpoints/live"


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
        without_commit = {file for table in self._tables() for file in _without_commit(table)}
        is_new = bool(without_commit - self._told)
        self._told |= without_commit
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
        return TABLES if written else PLANNED

    def _tables(self) -> Iterator[Path]:
        return (log.parent for log in self._lake.glob("*/*/_delta_log"))

    def _newest(self, log: str) -> int | None:
        names = (file.name for file in (self._lake / CHECKPOINT / log).glob("*"))
        return max((int(name) for name in names if name.isdigit()), default=None)


def _without_commit(table: Path) -> set[Path]:
    named = {table / unquote(action["add"]["path"]) for action in _actions(table) if "add" in action}
    return set(table.glob("*.parquet")) - named


def _transactions(table: Path) -> Iterator[tuple[str, int]]:
    return ((action["txn"]["appId"], action["txn"]["version"]) for action in _actions(table) if "txn" in action)


def _actions(table: Path) -> Iterator[dict[str, Any]]:
    for commit in (table / "_delta_log").glob("[0-9]*.json"):
        yield from map(json.loads, commit.read_text().splitlines())
