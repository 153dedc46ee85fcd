"""The log of a Delta table, `_delta_log`: which commits it holds, and what each of them did.

Layout, from the Delta protocol: version n is the file `<n in 20 digits>.json`, one action a line; numbers have no gaps.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any
from urllib.parse import unquote

from pipelines.errors import LakeMismatch
from pipelines.io.delta.writer_term import TERM
from pipelines.io.storage.files import files_at

WIDENED = "widened-condition"
"""Writer of the commits by which a table of before gets a condition of its record that was replaced by a wider one."""

REPLACED = "replaced-files"
"""The app id of a mark on commits that put files in place of others of an append-only table. Two that meet conflict by
it: of files that the other took out, delta-rs 1.6 notices nothing where that changed no row (`dataChange` is false).
"""


@dataclass(frozen=True)
class Transaction:
    """Makes a write idempotent: Delta takes (app_id, version) once, and silently ignores any version that is not newer.

    So the app id must name everything that restarts the count: `<writer>/<flow>`, where the writer is the checkpoint's
    identity, or that of one run of a maintenance command.

    Attributes:
        app_id: Who writes.
        version: The write's number.
        batch_id: The row of the ledger that tells of the write, if one does. No part of the identity.
    """

    app_id: str
    version: int
    batch_id: int | None = field(default=None, compare=False)

    @property
    def writer(self) -> str:
        return self.app_id.partition("/")[0]


@dataclass(frozen=True)
class Change:
    """A commit that changed a table's rows or definition, or carries a transaction.

    Attributes:
        version: The table version that it made.
        operation: Delta's word for what was done.
        transaction: By whose write; None for a program that gave none.
        added: The files that it added, as the log describes them.
    """

    version: int
    operation: str
    transaction: Transaction | None
    added: tuple[dict[str, Any], ...]

    @property
    def description(self) -> str:
        """Which version, what and by whom, for a person."""
        by = "another program" if self.transaction is None else f"{self.transaction.app_id} {self.transaction.version}"
        return f"version {self.version} ({self.operation} by {by})"

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that it added, relative to the table."""
        return tuple(unquote(file["path"]) for file in self.added)

    @property
    def row_count(self) -> int:
        """Rows in those files."""
        return sum(json.loads(file["stats"])["numRecords"] for file in self.added)


class TableLog:
    """The log of one table, read only."""

    def __init__(self, table_path: str) -> None:
        self._files, self._data_files = files_at(f"{table_path}/_delta_log"), files_at(table_path)

    def newest_version(self) -> int:
        """The newest version, found by a look at the whole folder.

        Raises `LakeMismatch` when its commit is empty or torn. Power that is lost leaves such files, and not every
        reader notices: to delta-rs, an empty one is a version in which nothing happened.
        """
        names = (entry.name for entry in self._files.entries())
        version = max(int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name))
        self._actions(version)
        return version

    def committed_at(self, version: int) -> datetime | None:
        """When a version was committed, by its own word; None for one that does not say, or that the log left."""
        try:
            actions = self._actions(version)
        except FileNotFoundError:
            return None
        told = (action["commitInfo"].get("timestamp") for action in actions if "commitInfo" in action)
        return next((datetime.fromtimestamp(moment / 1000, UTC) for moment in told if moment), None)

    def changes(self, after: int) -> Iterator[Change]:
        """What was done after a version, oldest first; without compaction and the like, which change no row."""
        return (change for _, change in self.commits(after) if change)

    def commits(self, after: int) -> Iterator[tuple[int, Change | None]]:
        """Each version after one, with what `change` says of it. Only the next one is ever looked for."""
        with suppress(FileNotFoundError):
            for version in count(after + 1):
                yield version, self.change(version)

    def change(self, version: int) -> Change | None:
        """What a commit did; None when it changed no row and carries no transaction, or replaced a condition by a wider
        one. Raises as `newest_version`, and `FileNotFoundError` for a version that is not there.
        """
        actions = self._actions(version)
        files = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
        redefines = any("metaData" in action or "protocol" in action for action in actions)
        marks = [Transaction(mark["appId"], mark["version"]) for action in actions if (mark := action.get("txn"))]
        marks = [mark for mark in marks if mark.app_id not in {TERM, REPLACED}]
        if [mark.writer for mark in marks] == [WIDENED]:
            return None
        if not (marks or redefines or any(file["dataChange"] for file in files)):
            return None
        operations = [action["commitInfo"]["operation"] for action in actions if "commitInfo" in action]
        added = tuple(action["add"] for action in actions if "add" in action)
        self._data_files.note_sizes((unquote(file["path"]), file["size"]) for file in added)
        return Change(version, operations[0] if operations else "a change", marks[0] if marks else None, added)

    def _actions(self, version: int) -> list[dict[str, Any]]:
        file = _file(version)
        try:
            actions = [json.loads(line) for line in self._files.read(file).splitlines()]
        except ValueError:
            actions = []
        if not actions:
            raise LakeMismatch(
                f"The commit {self._files.root}/{file} is empty or torn. Restore that file; or, of a gold table, "
                "delete the table's folder: `pts rebuild` rebuilds it from silver; or rebuild the lake from the log "
                "(docs/runbook.md, 'A table was changed')."
            )
        return actions


def _file(version: int) -> str:
    return f"{version:020d}.json"
