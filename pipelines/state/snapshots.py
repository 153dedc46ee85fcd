"""The lake at a batch: which version of every table holds the rows that follow the log up to there."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from duckdb import DuckDBPyConnection

from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.tables import OPS_BATCHES, Table
from pipelines.values import iso_utc

LEDGER = OPS_BATCHES.name
RECENT = 1_000
"""So many batches are looked through first: a ledger may have some ten thousand a day."""


def _promotions(ledger: str) -> str:
    return f"(SELECT batch_id AS promoted_at FROM {ledger} WHERE replay_id IS NOT NULL)"


def _states_at_batch(ledger: str) -> str:
    """One row for each batch at which a table stood: its state, as the first row of the ledger that has it there says.
    A table that a promotion brought stood nowhere before that.

    A table is at a batch in that batch's row at the earliest: so the rows from one batch on tell all of the batches
    from there on.
    """
    return f"""(
        SELECT * EXCLUDE (batch_id) RENAME (position AS batch_id)
        FROM (
            SELECT DISTINCT ON (position, table_name) *
            FROM (SELECT batch_id, unnest(tables, recursive := true) FROM {ledger}) ORDER BY batch_id
        ) AS states
        WHERE NOT EXISTS (FROM {_promotions(ledger)} WHERE position < promoted_at AND promoted_at <= states.batch_id)
    )"""


def _complete(ledger: str) -> str:
    """The batches at which every table of their time stood. Catch-up tables may have come there later."""
    return f"""(
        SELECT batch_id
        FROM (SELECT batch_id, count(*) AS table_count FROM {_states_at_batch(ledger)} GROUP BY batch_id)
        JOIN (SELECT batch_id, len(tables) AS table_count FROM {ledger}) USING (batch_id, table_count)
    )"""


@dataclass(frozen=True)
class Snapshot:
    """A batch at which all tables agree.

    Attributes:
        batch_id: The batch.
        committed_at: When its last table was written, in UTC.
        versions: Delta version of each table after it, as the ledger says; the ledger itself is not among them.
        expired_before: The time up to which each table had removed rows; None if it never did.
    """

    batch_id: int
    committed_at: datetime
    versions: Mapping[str, int]
    expired_before: Mapping[str, datetime | None]

    def as_json(self) -> dict[str, Any]:
        """The batch, when it was committed, and the version of each table."""
        return {"batch_id": self.batch_id, "committed_at": iso_utc(self.committed_at), "tables": dict(self.versions)}

    def raise_if_missing(self, tables: Iterable[Table]) -> None:
        """Raises `NotFound` when the batch is from before one of the tables."""
        if unknown := [table.name for table in tables if table.name not in self.versions and table != OPS_BATCHES]:
            raise NotFound(f"Batch {self.batch_id} has no {', '.join(unknown)} yet: start the job once with this code.")


def snapshot(lake_root: str, batch_id: int | None = None) -> Snapshot:
    """The lake at a batch; at the newest consistent one when none is given.

    `LakeReader(root, at.versions, until_batch=at.batch_id)` reads it. Whether the files of those versions are
    still there only reading them shows.

    Raises `NotFound` when there is no such batch, when not all tables were at it, and when a table was rebuilt
    since, so that its old versions are gone.
    """
    with _opened(lake_root) as ledger:
        batch_id = _newest_consistent(ledger, lake_root) if batch_id is None else batch_id
        row = _first(ledger, f"SELECT committed_at, tables FROM {LEDGER} WHERE batch_id = ?", batch_id)
        if not row:
            raise NotFound(f"There is no batch {batch_id} in the ledger of {lake_root}: {_range(ledger)}.")
        found = _rows(ledger, f"FROM {_states_at_batch(_from(batch_id))} WHERE batch_id = ?", batch_id)
        tables = {state["table_name"]: state for state in found}
        _check_consistent(ledger, batch_id, [state for state in row["tables"] if state["table_name"] not in tables])
        _check_readable(ledger, batch_id)
    return Snapshot(
        batch_id=batch_id,
        committed_at=row["committed_at"].astimezone(UTC),
        versions={name: state["version"] for name, state in tables.items()},
        expired_before={name: _utc(state.get("expired_before")) for name, state in tables.items()},
    )


def newest_of(lake_root: str, tables: Sequence[str]) -> Snapshot:
    """The lake at the newest batch at which these tables agree, whatever others wait for: its versions are theirs.

    Raises `NotFound` when there is none.
    """
    sql = f"""
        SELECT batch_id, committed_at, list(table_name) AS tables, list(version) AS versions
        FROM {_states_at_batch("recent")} JOIN (SELECT batch_id, committed_at FROM recent) USING (batch_id)
        WHERE table_name IN $2 GROUP BY ALL HAVING count(*) = len($2) ORDER BY batch_id DESC LIMIT 1
    """
    with _opened(lake_root) as ledger:
        found = _newest(ledger, sql, list(tables))
        if not found:
            raise NotFound(f"There is no batch at which {', '.join(tables)} agree yet: {_range(ledger)}.")
        _check_readable(ledger, found["batch_id"], tables)
    return Snapshot(
        batch_id=found["batch_id"],
        committed_at=found["committed_at"].astimezone(UTC),
        versions=dict(zip(found["tables"], found["versions"], strict=True)),
        expired_before={},
    )


def is_settled(lake_root: str) -> bool:
    """Whether a batch since the newest promotion is consistent: before one is, the newest consistent batch is of the
    tables that were replaced. Raises `NotFound` when there is no consistent batch at all."""
    with _opened(lake_root) as ledger:
        newest = _newest_promotion(ledger)
        return newest is None or _newest_consistent(ledger, lake_root) >= newest


def newest_promotion(lake_root: str) -> int | None:
    """The batch by which tables last took the place of the live ones."""
    with _opened(lake_root) as ledger:
        return _newest_promotion(ledger)


def _newest_promotion(ledger: DuckDBPyConnection) -> int | None:
    found: int | None = _first(ledger, f"SELECT max(promoted_at) AS batch_id FROM {_promotions(LEDGER)}")["batch_id"]
    return found


def _opened(lake_root: str) -> AbstractContextManager[DuckDBPyConnection]:
    """The ledger in one version, for several questions; raises what `LakeReader.query` raises."""
    return LakeReader(lake_root).opened_for(LEDGER)


def recreated_tables(lake_root: str, after: int = 0) -> dict[str, int]:
    """The tables that were deleted and rebuilt after a batch, each with the last batch that found it so.

    Delta counts the versions of a new table from 0: those of the ledger's earlier rows are not its own.
    """
    with _opened(lake_root) as ledger:
        return _rebuilt(ledger, after)


def _rebuilt(ledger: DuckDBPyConnection, after: int) -> dict[str, int]:
    rows = _rows(
        ledger,
        f"""
        WITH states AS (
            SELECT batch_id, unnest(tables, recursive := true) FROM (FROM {LEDGER} WHERE batch_id >= ?)
        ), steps AS (
            SELECT *, lag(version) OVER (PARTITION BY table_name ORDER BY batch_id) AS before FROM states
        )
        SELECT table_name, max(batch_id) AS batch_id FROM steps WHERE version < before GROUP BY table_name
        """,
        after,
    )
    return {row["table_name"]: row["batch_id"] for row in rows}


def _newest_consistent(ledger: DuckDBPyConnection, lake_root: str) -> int:
    sql = f"FROM {_complete('recent')} ORDER BY batch_id DESC LIMIT 1"
    found = _newest(ledger, sql)
    if not found:
        raise NotFound(
            f"There is no batch in the ledger of {lake_root} at which all tables agree: {_range(ledger)}. The job "
            "brings all tables to one batch every PTS_STREAM__FOLLOW_SECONDS; `pts stream --drain` does so at its end."
        )
    return int(found["batch_id"])


def _newest(ledger: DuckDBPyConnection, sql: str, *parameters: object) -> dict[str, Any]:
    """The answer of a query for the newest batch of a kind; empty when there is none.

    Args:
        ledger: Where it is asked.
        sql: Reads `recent`, the ledger's rows from batch $1 on, and finds one of them at most.
        parameters: Those from $2 on.
    """
    last = _first(ledger, f"SELECT max(batch_id) AS batch_id FROM {LEDGER}")["batch_id"] or 0
    for first in (last - RECENT, 0):
        query = f"WITH recent AS MATERIALIZED (FROM {LEDGER} WHERE batch_id >= $1) {sql}"
        if found := _first(ledger, query, max(0, first), *parameters):
            return found
    return {}


def _from(batch_id: int) -> str:
    """The ledger's rows from a batch on."""
    return f"(FROM {LEDGER} WHERE batch_id >= {batch_id})"


def _check_consistent(ledger: DuckDBPyConnection, batch_id: int, missing: list[dict[str, Any]]) -> None:
    """Refuses a batch at which some tables never were; `missing` are their states after it."""
    behind: dict[int, list[str]] = {}
    for state in missing:
        behind.setdefault(state["position"], []).append(state["table_name"])
    if not behind:
        return
    stood = "; ".join(
        f"{', '.join(names)} {'held nothing yet' if position < 0 else f'stood at batch {position}'}"
        for position, names in sorted(behind.items())
    )
    near = _first(
        ledger,
        f"""
        SELECT max(batch_id) FILTER (WHERE batch_id < $1) AS before, min(batch_id) FILTER (WHERE batch_id > $1) AS after
        FROM {_complete(LEDGER)}
        """,
        batch_id,
    )
    consistent = [str(each) for each in (near["before"], near["after"]) if each is not None]
    nearest = (
        f"The nearest at which they do: {' and '.join(consistent)}."
        if consistent
        else "There is no consistent batch yet."
    )
    raise NotFound(f"At batch {batch_id} the tables do not agree: {stood}. {nearest}")


def _check_readable(ledger: DuckDBPyConnection, batch_id: int, tables: Sequence[str] = ()) -> None:
    """Refuses a batch since which one of the tables (none: any) was rebuilt."""
    rebuilt = {name: since for name, since in _rebuilt(ledger, batch_id).items() if name in tables or not tables}
    if not rebuilt:
        return
    table, since = max(rebuilt.items(), key=lambda item: item[1])
    found = _first(ledger, f"SELECT min(batch_id) AS first FROM {_complete(LEDGER)} WHERE batch_id >= $1", since)
    first = "no batch since is consistent yet" if found["first"] is None else f"the first that can is {found['first']}"
    raise NotFound(f"Batch {batch_id} can no longer be read: {table} was rebuilt before batch {since}; {first}.")


def _range(ledger: DuckDBPyConnection) -> str:
    edges = _first(ledger, f"SELECT min(batch_id) AS first, max(batch_id) AS last FROM {LEDGER}")
    return "it is empty" if edges["first"] is None else f"it holds {edges['first']} to {edges['last']}"


def _first(ledger: DuckDBPyConnection, sql: str, *parameters: object) -> dict[str, Any]:
    """The first row of the answer; empty when there is none."""
    rows = _rows(ledger, sql, *parameters)
    return rows[0] if rows else {}


def _rows(ledger: DuckDBPyConnection, sql: str, *parameters: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ledger.sql(sql, params=list(parameters)).to_arrow_table().to_pylist()
    return rows


def _utc(moment: datetime | None) -> datetime | None:
    return moment and moment.astimezone(UTC)
