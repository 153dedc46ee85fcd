"""A Delta table, opened by delta-rs."""

import json
import re
import threading
from contextlib import suppress

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from pipelines.errors import LakeMismatch, first_sentence
from pipelines.io.storage import access
from pipelines.io.storage.files import Files, files_at

MISREAD_PATH = re.compile(r"[][*?^|\\]|%[0-9A-Fa-f]{2}")
"""What DuckDB expands in a local path, and what delta-rs 1.6 panics at or decodes (it takes `a%20b` for `a b`)."""


HINT = "_last_checkpoint"

NOTHING_MORE = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

LONG_LOG = 10
"""From so many commits after a checkpoint of the log on, another one spares readers more than it costs."""


class OpenTable(DeltaTable):
    """A table that looks for a transaction once: for each question, delta-rs 1.6 reads the log from its checkpoint on.
    What it has committed itself, right upon the version that it knew, it need not look for.
    """

    def __init__(self, path: str, version: int | None = None, storage_options: dict[str, str] | None = None) -> None:
        super().__init__(path, version=version, storage_options=storage_options)
        self._found_at = self.version()
        self._found: dict[str, int | None] = {}

    def transaction_version(self, app_id: str) -> int | None:
        if self._found_at != (version := self.version()):
            self._found_at, self._found = version, {}
        if app_id not in self._found:
            self._found[app_id] = super().transaction_version(app_id)
        return self._found[app_id]

    def commit(self, actions: list[AddAction | RemoveAction], properties: CommitProperties) -> None:
        """Makes one commit, which is then known. delta-rs would look through the whole log after it, for what is
        expired: `pts compact` does that, and `Lake.commit` writes checkpoints.

        Raises `CommitFailedError` where another one has been made since that it conflicts with.
        """
        before = self.version()
        self.create_write_transaction(
            actions, "append", self.schema(), commit_properties=properties, post_commithook_properties=NOTHING_MORE
        )
        self.update_incremental()
        if self._found_at == before:
            self._found_at = before + 1  # where another commit came first, the version is a later one: all is forgotten
            self._found |= {each.app_id: each.version for each in properties.app_transactions or ()}


class Tables:
    """Tables that stay open: each is brought up to date when it is asked for again and has got another commit.

    delta-rs 1.6 then reads all commits since it opened the table, each time: it is opened again before they are many.
    """

    def __init__(self) -> None:
        self._opened: dict[str, OpenTable] = {}
        self._opened_at: dict[str, int] = {}
        self._locks: dict[str, threading.Lock] = {}

    def newest(self, path: str) -> OpenTable:
        """The table at its newest version, also for whoever has asked for it before. Raises as `opened`."""
        with self._locks.setdefault(path, threading.Lock()):
            if path in self._opened and _log(path).exists(f"{self._opened[path].version() + 1:020d}.json"):
                self._opened[path].update_incremental()
            if path not in self._opened or self._opened[path].version() - self._opened_at[path] >= LONG_LOG:
                self._opened[path] = opened(path)
                self._opened_at[path] = self._opened[path].version()
            return self._opened[path]

    def at(self, path: str, version: int) -> OpenTable:
        """The table at a version, most likely its newest."""
        table = self.newest(path)
        return table if table.version() == version else opened(path, version)


def opened(path: str, version: int | None = None) -> OpenTable:
    """The table at a version; at its newest, when none is given.

    A checkpoint of its log that is gone is forgotten. To the Delta protocol, `_last_checkpoint` is a hint, and commits
    say what a checkpoint says; but delta-rs 1.6 refuses a log whose hint leads nowhere.

    Raises `LakeMismatch` when its log cannot be read.
    """
    try:
        return OpenTable(path, version, access.of_delta_rs())
    except DeltaError as error:
        if not _forgot_lost_checkpoint(path):
            raise LakeMismatch(
                f"The table at {path} cannot be read: {first_sentence(error)}. Restore the files of its log "
                "(docs/runbook.md, 'A table was changed')."
            ) from error
    return opened(path, version)


def last_checkpoint(path: str) -> int | None:
    """The version of which the table's log says that there is a checkpoint; None when it says so of none."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        return int(json.loads(_log(path).read(HINT))["version"])
    return None


def has_long_log(path: str, version: int) -> bool:
    """Whether the newest checkpoint is so far behind a version that another one pays."""
    return version - (last_checkpoint(path) or 0) >= LONG_LOG


def _forgot_lost_checkpoint(path: str) -> bool:
    version = last_checkpoint(path)
    log, checkpoint = _log(path), f"{version or 0:020}.checkpoint"
    if version is None or any(entry.name.startswith(checkpoint) for entry in log.entries()):
        return False
    log.delete(HINT)
    return True


def _log(path: str) -> Files:
    return files_at(f"{path}/_delta_log")
