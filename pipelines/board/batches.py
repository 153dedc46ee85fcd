"""The page *batches*: which part of the log each took, when its tables were written, and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.board.view import View
from pipelines.errors import NotFound
from pipelines.io.delta.table_log import TableLog
from pipelines.io.duckdb.reader import LakeReader
from pipelines.tables import OPS_BATCHES

MOST = 50
LISTED = f"""
    SELECT *, lag(tables) OVER (ORDER BY batch_id) AS tables_before,
        lag((checkpoint_id, checkpoint_batch_id)) OVER (ORDER BY batch_id) = (checkpoint_id, checkpoint_batch_id)
            AS is_maintenance
    FROM {OPS_BATCHES.name} WHERE batch_id BETWEEN $1 - 1 AND $2 ORDER BY batch_id DESC
"""


@dataclass(frozen=True)
class Written:
    """A table after a batch.

    Attributes:
        name: Its name.
        version: Its version.
        position: The batch up to which its rows follow the log.
        is_new: Whether the batch wrote it.
        seconds: How long after the batch's start that was committed; None where it is not known.
    """

    name: str
    version: int
    position: int
    is_new: bool
    seconds: float | None = None


@dataclass(frozen=True)
class Batch:
    """A row of the ledger; `kind` says whether it read the log, changed tables without it, or promoted a replay."""

    batch_id: int
    kind: str
    started_at: datetime
    committed_at: datetime
    counts: Mapping[str, int]
    by_topic: list[dict[str, Any]]
    offsets: list[dict[str, Any]]
    tables: tuple[Written, ...]

    @property
    def seconds(self) -> float:
        return (self.committed_at - self.started_at).total_seconds()


def batches_page(view: View, last: int | None) -> list[Batch]:
    """The newest batches, or those up to one, newest first."""
    end = view.batch_id if last is None else min(last, view.batch_id)
    rows = view.rows(LISTED, end - MOST + 1, end)
    return [_batch(row) for row in rows if row["batch_id"] > end - MOST]


def batch_page(view: View, batch_id: int) -> Batch:
    """One batch, with the moments at which its tables were committed. Raises `NotFound`."""
    rows = [row for row in view.rows(LISTED, batch_id, batch_id) if row["batch_id"] == batch_id]
    if not rows:
        raise NotFound(f"There is no batch {batch_id} in the ledger.")
    return _batch(rows[0], view.reader)


def _batch(row: dict[str, Any], reader: LakeReader | None = None) -> Batch:
    before = {state["table_name"]: state["version"] for state in row["tables_before"] or ()}
    names = ("read_count", "accepted_count", "duplicate_count", "quarantined_count")
    return Batch(
        batch_id=row["batch_id"],
        kind=f"promotion of {row['replay_id']}"
        if row["replay_id"]
        else "maintenance"
        if row["is_maintenance"]
        else "log",
        started_at=row["started_at"],
        committed_at=row["committed_at"],
        counts={name: sum(count[name] for count in row["counts"]) for name in names},
        by_topic=row["counts"],
        offsets=[part | {"size": part["end_offset"] - part["start_offset"]} for part in row["offsets"]],
        tables=tuple(_written(state, before, row["started_at"], reader) for state in row["tables"]),
    )


def _written(state: dict[str, Any], before: Mapping[str, int], since: datetime, reader: LakeReader | None) -> Written:
    name, version = state["table_name"], state["version"]
    is_new = before.get(name) != version
    at = None
    if is_new and reader:
        at = TableLog(reader.path(name)).committed_at(version)
    return Written(name, version, state["position"], is_new, (at - since).total_seconds() if at else None)
