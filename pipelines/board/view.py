"""What a page reads: some tables, all at one batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.io.duckdb.reader import LakeReader
from pipelines.state.snapshots import newest_of
from pipelines.tables import OPS_BATCHES
from pipelines.terminal.rendering import rows_of


@dataclass(frozen=True)
class View:
    """Tables at a batch, and the ledger up to it.

    Attributes:
        batch_id: The batch.
        committed_at: When it was committed, in UTC.
        reader: Reads them.
    """

    batch_id: int
    committed_at: datetime
    reader: LakeReader

    def rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """The rows of a query."""
        return rows_of(self.reader.query(sql, parameters))


def view_of(lake_root: str, tables: Sequence[str]) -> View:
    """At the newest batch at which these tables agree. Raises `NotFound` when there is none."""
    found = newest_of(lake_root, tables)
    return View(found.batch_id, found.committed_at, LakeReader(lake_root, found.versions, found.batch_id))


def view_of_ledger(lake_root: str) -> View:
    """At the ledger's newest batch: of the ledger alone. Raises `NotFound` when there is none."""
    (row,) = rows_of(
        LakeReader(lake_root).query(
            f"SELECT max(batch_id) AS batch_id, arg_max(committed_at, batch_id) AS committed_at FROM {OPS_BATCHES.name}"
        )
    )
    newest = -1 if row["batch_id"] is None else row["batch_id"]
    return View(newest, row["committed_at"], LakeReader(lake_root, until_batch=newest))
