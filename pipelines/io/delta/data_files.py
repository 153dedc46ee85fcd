"""Files of a Delta table, written by DuckDB from a query: nothing is in the table before a commit names them."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from pipelines.errors import LakeMismatch
from pipelines.io.delta.parquet import identifier, literal
from pipelines.io.storage.files import files_at
from pipelines.tables import Column, Table
from pipelines.tables.record import HEADERS_TYPE

FILE_BYTES = 64 << 20
"""About the size of the largest files: a merge rewrites those that it touches."""

ROW_GROUP_BYTES = 32 << 20
"""What a writer holds of rows, if they are large."""

ROWS_OF_A_SMALL_GROUP = 20_480
"""Of a small file: a core scans or writes a row group at once."""

BROKEN = "broken condition: "

TYPES = {
    "BIGINT": "BIGINT",
    "INT": "INTEGER",
    "STRING": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
    "BOOLEAN": "BOOLEAN",
    "BINARY": "BLOB",
    HEADERS_TYPE: 'STRUCT("key" VARCHAR, "value" BLOB)[]',
}
"""DuckDB's types by Spark's; of those that are not here, a query gives the right one."""


@dataclass(frozen=True)
class DataFile:
    """A file in a table's folder, as a commit describes it.

    Attributes:
        name: Relative to the table.
        byte_count, row_count: How large it is.
        statistics: What its rows are like, as the Delta protocol writes it (JSON).
    """

    name: str
    byte_count: int
    row_count: int
    statistics: str


def write(
    cursor: duckdb.DuckDBPyConnection,
    rows: str,
    table: Table,
    folder: str,
    *,
    are_few: bool = False,
    are_joined: bool = False,
) -> list[DataFile]:
    """Writes the rows of a query into new files of the table's folder, a small number if there are few; in the order of
    its key if they come from files that are joined, and of the key's first column if rows of the table are replaced,
    and not `are_few`: in that order, readers would skip nothing, and one core would sort and write them.

    Raises `LakeMismatch` when a row breaks a condition of the table, or lacks a column that is required.
    """
    first, *others = table.columns
    columns = ", ".join([_checked(first, table), *map(_typed, others)])
    query = f"SELECT {columns} FROM ({rows})"
    is_small = are_few and not table.is_append_only
    if are_joined or not (is_small or table.is_append_only):
        query += f" ORDER BY {', '.join(map(identifier, table.key if are_joined else table.key[:1]))}"
    row_groups = f"SIZE {ROWS_OF_A_SMALL_GROUP}" if is_small else f"SIZE_BYTES {ROW_GROUP_BYTES}"
    files, beginning = files_at(folder), f"part-{uuid.uuid4()}-"
    with _refusals(table), files.made_up(beginning):
        done = cursor.execute(
            f"COPY ({query}) TO {literal(folder)} (FORMAT parquet, FILE_SIZE_BYTES {FILE_BYTES}, "
            f"ROW_GROUP_{row_groups}, FILENAME_PATTERN '{beginning}{{i}}', "
            "OVERWRITE_OR_IGNORE, RETURN_STATS)"
        ).fetchall()
    for path in (path for path, count, *_ in done if not count):
        files.delete(file_name(path))
    made = [_data_file(table, path, count, size, told) for path, count, size, _, told, *_ in done if count]
    files.note_sizes((file.name, file.byte_count) for file in made)
    return made


def empty_rows(table: Table) -> str:
    """A query that gives none, with the table's columns."""
    columns = (f"NULL::{TYPES.get(column.type, 'VARCHAR[]')} AS {identifier(column.name)}" for column in table.columns)
    return f"SELECT {', '.join(columns)} WHERE false"


def _typed(column: Column) -> str:
    return f"{_value(column)} AS {identifier(column.name)}"


def _value(column: Column) -> str:
    """SQL that casts a column to its type."""
    name = identifier(column.name)
    return f"{name}::{TYPES[column.type]}" if column.type in TYPES else name


def _checked(column: Column, table: Table) -> str:
    """A column, whose value in a row that breaks a condition of the table ends the query. Not as a filter: that could
    be asked of rows which another one leaves out.
    """
    broken = " ".join(
        f"WHEN NOT coalesce({condition}, false) THEN error({literal(f'{BROKEN}{name}')})"
        for name, condition in _conditions(table)
    )
    return f"CASE {broken} ELSE {_value(column)} END AS {identifier(column.name)}" if broken else _typed(column)


def _conditions(table: Table) -> Iterator[tuple[str, str]]:
    """What must hold of each row, as DuckDB says it, by what is told of a row that breaks it."""
    for column in table.columns:
        if column.is_required:
            yield f"{column.name}_is_required", f"{identifier(column.name)} IS NOT NULL"
    for name, condition in table.constraints.items():
        yield f"{name}: {condition}", condition.replace("<=>", "IS NOT DISTINCT FROM")


@contextmanager
def _refusals(table: Table) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        if BROKEN not in str(error):
            raise
        condition = str(error).partition(BROKEN)[2].splitlines()[0]
        raise LakeMismatch(
            f"Table {table.name} refuses rows that break one of its conditions ({condition}). This is a defect: bad "
            "input never gets this far."
        ) from error


def _data_file(
    table: Table, path: str, row_count: int, byte_count: int, columns: Mapping[str, Mapping[str, str]]
) -> DataFile:
    told = [column for column in table.columns if column.name in (table.statistics or table.key)]
    found = [(column, columns.get(identifier(column.name), {})) for column in told]
    statistics = {
        "numRecords": row_count,
        "minValues": _bounds(found, "min"),
        "maxValues": _bounds(found, "max"),
        "nullCount": {column.name: int(of["null_count"]) for column, of in found if "null_count" in of},
    }
    return DataFile(file_name(path), byte_count, row_count, json.dumps(statistics))


def file_name(path: str) -> str:
    """A file's name in its table's folder."""
    return path.rpartition("/")[2]


def _bounds(found: Iterable[tuple[Column, Mapping[str, str]]], bound: str) -> dict[str, int | str]:
    """The bounds of each column; those of texts may be cut off, and are left out."""
    return {
        column.name: _told(column, of[bound])
        for column, of in found
        if bound in of and column.type in {"BIGINT", "INT", "TIMESTAMP"}
    }


def _told(column: Column, text: str) -> int | str:
    return text.replace(" ", "T").replace("+00", "Z") if column.type == "TIMESTAMP" else int(text)
