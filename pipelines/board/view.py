"""What a page reads: some tables, all at one batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.io.duckdb.reader import LakeReader
from pipelines.state.snapshots import newest_of
from pipelines.tables import OPS_BATCHES
from pipelines.values import rows_of

NEWEST = f"SELECT max(batch_id) AS batch_id, arg_max(committed_at, batch_id) AS committed_at FROM {OPS_BATCHES.name}"


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


@contextmanager
def view_of(lake_root: str, tables: Sequence[str]) -> Iterator[View]:
    """At the newest batch at which these tables agree; each is opened once. Raises `NotFound` when there is none."""
    found = newest_of(lake_root, tables)
    with LakeReader(lake_root, found.versions, found.batch_id).held([*tables, OPS_BATCHES.name]) as reader:
        yield View(found.batch_id, found.committed_at, reader)


@contextmanager
def view_of_ledger(lake_root: str) -> Iterator[View]:
    """At the ledger's newest batch: of the ledger alone. Raises `NotFound` when there is none."""
    with LakeReader(lake_root).held([OPS_BATCHES.name]) as reader:
        (row,) = rows_of(reader.query(NEWEST))
        yield View(-1 if row["batch_id"] is None else row["batch_id"], row["committed_at"], reader)
