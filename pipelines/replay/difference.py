"""Which rows of a table do two lakes not have in common?"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from duckdb import DuckDBPyConnection as Cursor

from pipelines.contracts.envelope import masked
from pipelines.io.delta import duck
from pipelines.io.delta.data_files import ROW_GROUP_BYTES
from pipelines.io.delta.parquet import identifier, literal
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.storage.files import files_at
from pipelines.replay.compared import Sample, TableCompared
from pipelines.tables import Table
from pipelines.values import rows_of

SAMPLES = 20
KINDS = "missing", "extra", "changed"


class Pair:
    """Two lakes, each at the versions of its tables that its reader shows."""

    def __init__(self, live: LakeReader, shadow: LakeReader) -> None:
        self._sides = {"live": live, "shadow": shadow}

    def compared(self, table: Table, declared: frozenset[str], folder: str) -> TableCompared:
        """First the rows that the other side does not have as they are, as often; then those among them with one key.

        If there are any, they are written to a folder as Parquet: `rows`, with `kind`, `live`, `shadow`.
        """
        columns = [column.name for column in table.columns if column.follows_log]
        with closing(duck.cursor()) as cursor:
            totals = {side: self._opened(cursor, side, table, columns) for side in self._sides}
            cursor.execute(f"CREATE TEMP TABLE differing AS {_differing(columns, table.key)}")
            counts = _first(cursor, f"SELECT {_counts(columns, table, declared)} FROM differing")
            changed_in = {name: counts.pop(f"of {name}") for name in columns}
            samples = tuple(_samples(cursor, table))
            if samples:
                _write(cursor, f"{folder}/rows")
        return TableCompared(
            table=table.name,
            columns={name: count for name, count in changed_in.items() if count},
            samples=samples,
            **{f"{side}_{what}": value for side, total in totals.items() for what, value in total.items()},
            **counts,
        )

    def _opened(self, cursor: Cursor, side: str, table: Table, columns: Sequence[str]) -> dict[str, Any]:
        """Names a side's rows to DuckDB. Returns their Delta version, how many they are, and their checksum."""
        rows = self._sides[side].rows(table.name)
        cursor.execute(f"CREATE TEMP VIEW {side} AS SELECT {_list(columns)} FROM ({rows.query})")
        total = _first(cursor, f"SELECT count(*) AS rows, sum(hash({_list(columns)})) AS hashes FROM {side}")
        return {
            "version": rows.version,
            "rows": total["rows"],
            "checksum": f"{(total['hashes'] or 0) % 2**64:016x}",
        }


def _differing(columns: Sequence[str], key: Sequence[str]) -> str:
    """The rows that one side has more often, by key: the first of live with the first of shadow, and so on."""
    row = ", ".join(f"{name} := {name}" for name in map(identifier, columns))
    keys = ", ".join(f"row.{identifier(name)}" for name in key)
    return f"""
        WITH unequal AS (
            SELECT struct_pack({row}) AS row, sum(weight)::BIGINT AS surplus
            FROM (SELECT *, 1 AS weight FROM live UNION ALL SELECT *, -1 FROM shadow)
            GROUP BY {_list(columns)} HAVING sum(weight) <> 0
        ), each AS (
            SELECT row, if(surplus > 0, 'live', 'shadow') AS side, unnest(range(abs(surplus))) AS time FROM unequal
        ), numbered AS (
            SELECT *, row_number() OVER (PARTITION BY side, {keys} ORDER BY hash(row), time) AS number FROM each
        ), paired AS (
            SELECT any_value(row) FILTER (side = 'live') AS live, any_value(row) FILTER (side = 'shadow') AS shadow
            FROM numbered GROUP BY {keys}, number
        )
        SELECT CASE WHEN live IS NULL THEN 'missing' WHEN shadow IS NULL THEN 'extra' ELSE 'changed' END AS kind, *
        FROM paired
    """


def _counts(columns: Sequence[str], table: Table, declared: frozenset[str]) -> str:
    """How many of the rows are what, and how many of the changed ones differ in which column."""
    differs = {name: f"live.{identifier(name)} IS DISTINCT FROM shadow.{identifier(name)}" for name in columns}
    undeclared = " OR ".join(["kind <> 'changed'", *(differs[name] for name in columns if name not in declared)])
    counted = {
        **{kind: f"kind = '{kind}'" for kind in KINDS},
        "undeclared": "false" if declared.issuperset(table.column_names) else undeclared,
        **{f"of {name}": f"kind = 'changed' AND {each}" for name, each in differs.items()},
    }
    return ", ".join(f"count(*) FILTER ({condition}) AS {identifier(name)}" for name, condition in counted.items())


def _samples(cursor: Cursor, table: Table) -> Iterator[Sample]:
    """The first rows of each kind, by key."""
    key = ", ".join(f"coalesce(live.{name}, shadow.{name})" for name in map(identifier, table.key))
    query = f"""
        FROM differing QUALIFY row_number() OVER (PARTITION BY kind ORDER BY {key}) <= {SAMPLES} ORDER BY kind, {key}
    """
    for row in rows_of(cursor.sql(query).to_arrow_table()):
        live, shadow = row["live"] or {}, row["shadow"] or {}
        shown = [
            name
            for name in (live or shadow)
            if name not in table.key and (not live or not shadow or live[name] != shadow[name])
        ]
        yield Sample(
            kind=row["kind"],
            key={name: _shown((live or shadow)[name]) for name in table.key},
            live={name: _shown(live[name]) for name in shown if live},
            shadow={name: _shown(shadow[name]) for name in shown if shadow},
        )


def _write(cursor: Cursor, folder: str) -> None:
    files_at(folder).make_folder("")
    file = literal(f"{folder}/part-0.parquet")
    cursor.execute(f"COPY differing TO {file} (FORMAT parquet, ROW_GROUP_SIZE_BYTES {ROW_GROUP_BYTES})")


def _first(cursor: Cursor, query: str) -> dict[str, Any]:
    (row,) = cursor.execute(query).fetchall()
    return dict(zip((column[0] for column in cursor.description), row, strict=True))


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))


def _shown(value: Any) -> Any:
    """A value as JSON and people read it: bytes as Python writes them, and a mask in place of what is sealed."""
    return value if value is None or isinstance(value, int | float | bool) else masked(str(value))
