"""Writes to the Delta tables of a lake: each is one commit, made once per transaction however often it is repeated.

What a table becomes is written by DuckDB into new files of its folder, and becomes the table's in one commit by
delta-rs, which carries a transaction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from duckdb import DuckDBPyConnection as Cursor
from pyspark.sql import SparkSession

from pipelines.io.delta import data_files, delta_rs, duck
from pipelines.io.delta.commit_watch import CommitWatch
from pipelines.io.delta.data_files import DataFile
from pipelines.io.delta.delta_table import OpenTable, has_long_log
from pipelines.io.delta.parquet import file_list, parquet_rows
from pipelines.io.delta.readable_lake import ReadableLake, rows_of
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.lake_root import is_in_store
from pipelines.tables import Table

NO_BOUND = 1 << 62

PORTION_BYTES = 64 << 20
"""Bytes of files that are sorted at once: DuckDB holds them unpacked, some five times as large."""

FEW_ROWS, FEW_BYTES = 50_000, 8 << 20
"""Up to so many new rows, and bytes of files that are rewritten for them, are written in no order."""


class Lake(ReadableLake):
    """The tables under one root, to read and to write.

    Args:
        spark: The session in which frames are read; none are without one.
        root: The folder.
        versions: By table name, the version up to which commits are known to be in order; the newest, where not given.

    Attributes:
        commits: Who changed the tables.
    """

    def __init__(self, spark: SparkSession | None, root: str, versions: Mapping[str, int] | None = None) -> None:
        super().__init__(spark, root)
        self.commits = CommitWatch(self, versions)

    def in_session(self, spark: SparkSession) -> "Lake":
        """The lake for another session, with what this one knows of the tables."""
        other = Lake(spark, self.root, self.commits.versions)
        other._tables = self._tables
        return other

    def begin_term(self, tables: Iterable[Table]) -> None:
        """Keeps every process out that has written this lake before, where it is in an object store: whoever has just
        taken its lease does so. In a folder the lock does.
        """
        if is_in_store(self.root):
            with ThreadPoolExecutor() as pool:  # each waits for the store
                there = chain.from_iterable(pool.map(self._opened, tables))
            delta_rs.begin_term(self.root, list(there))

    def _opened(self, table: Table) -> list[tuple[OpenTable, str]]:
        """The table with its path, if it exists."""
        return [(self.newest(table), self.path(table))] if self.exists(table) else []

    def commit(
        self, table: Table, transaction: Transaction, added: Sequence[DataFile], removed: Sequence[str] = ()
    ) -> Change | None:
        """Puts files of the table's folder into it, and takes out others by their names, once per transaction however
        often it is called; returns the commit that did. None when there are no files, and no commit.
        """
        if not (added or removed):
            return self.commits.by(table, transaction)
        delta_rs.commit(self.newest(table), self.path(table), added, removed, transaction)
        made = self.commits.of(table, transaction)
        if has_long_log(self.path(table), made.version):
            self.newest(table).create_checkpoint()
        return made

    def append(self, cursor: Cursor, rows: str, table: Table, transaction: Transaction) -> Change | None:
        """Adds the rows of a query. Here and in the other writes: once per transaction; returns the commit that holds
        them, or None where there was nothing to do. Each raises `LakeMismatch` as `data_files.write`.
        """
        return self.commit(table, transaction, data_files.write(cursor, rows, table, self.path(table)))

    def append_rows(self, rows: pa.Table, table: Table, transaction: Transaction) -> Change | None:
        """Adds rows that this process has."""
        with closing(duck.cursor()) as cursor:
            cursor.register("rows_to_add", rows)
            return self.append(cursor, "FROM rows_to_add", table, transaction)

    def replace(self, cursor: Cursor, rows: str, table: Table, transaction: Transaction) -> Change | None:
        """Puts the rows of a query in place of all there are."""
        old = [data_files.file_name(file) for file in self.files(table)]
        return self.commit(table, transaction, data_files.write(cursor, rows, table, self.path(table)), old)

    def replace_where(
        self, cursor: Cursor, rows: str, condition: str, table: Table, transaction: Transaction
    ) -> Change | None:
        """Replaces the rows for which a condition (SQL) holds; it must hold for the new ones, too."""
        gone = f"coalesce({condition}, false)"
        return self._rewrite(cursor, rows, f"WHERE {gone}", f"WHERE NOT {gone}", table, transaction)

    def delete(self, cursor: Cursor, condition: str, table: Table, transaction: Transaction) -> Change | None:
        """Takes out the rows for which a condition (SQL) holds."""
        return self.replace_where(cursor, data_files.empty_rows(table), condition, table, transaction)

    def merge(self, cursor: Cursor, rows: str, table: Table, transaction: Transaction) -> Change | None:
        """Puts the rows of a query in place of those with the same key."""
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE merged AS {rows}")
        same = _same("merged", table)
        gone, kept = f"SEMI JOIN merged ON {same}", f"ANTI JOIN merged ON {same}"
        near = self._near(cursor, table)
        ((count,),) = cursor.execute("SELECT count(*) FROM merged").fetchall()
        return self._rewrite(cursor, "FROM merged", gone, kept, table, transaction, near, are_few=count <= FEW_ROWS)

    def add(self, cursor: Cursor, rows: str, table: Table, transaction: Transaction) -> Change | None:
        """Adds the measures of a query's rows to those of the row with the same key."""
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE merged AS {rows}")
        there = rows_of(table, self._near(cursor, table))
        sums = ", ".join(f"merged.{name} + coalesce(there.{name}, 0) AS {name}" for name in table.measures)
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE summed AS SELECT merged.* REPLACE ({sums}) FROM merged "
            f"LEFT JOIN ({there}) AS there ON {_same('merged', table)}"
        )
        return self.merge(cursor, "FROM summed", table, transaction)

    def take_out(self, cursor: Cursor, keys: str, table: Table, transaction: Transaction) -> Change | None:
        """Takes out the rows that agree with one of a query's rows in all of its columns."""
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE keys AS {keys}")
        names = [name for name, *_ in cursor.execute("DESCRIBE keys").fetchall()]
        same = " AND ".join(f"there.{name} IS NOT DISTINCT FROM keys.{name}" for name in names)
        gone, kept = f"SEMI JOIN keys ON {same}", f"ANTI JOIN keys ON {same}"
        return self._rewrite(cursor, data_files.empty_rows(table), gone, kept, table, transaction)

    def _rewrite(
        self,
        cursor: Cursor,
        rows: str,
        gone: str,
        kept: str,
        table: Table,
        transaction: Transaction,
        near: Sequence[str] | None = None,
        *,
        are_few: bool = False,
    ) -> Change | None:
        """Rewrites each file that has rows which go, and writes the rows of a query with it.

        Args:
            cursor: Knows what the SQL names.
            rows: The new rows.
            gone, kept: What a query about the table's rows, called `there`, ends with to give those that go, and those
                that stay.
            table: The table.
            transaction: The write.
            near: The files that may have such rows; all of them when not given.
            are_few: Whether few rows are new; with few bytes of files, they are written in no order.
        """
        near = self.files(table) if near is None else near
        touched: list[str] = []
        if near:
            there = parquet_rows(file_list(near), with_filename=True)
            found_in = cursor.execute(f"SELECT DISTINCT filename FROM {there} AS there {gone}").fetchall()
            touched = sorted(path for (path,) in found_in)
        names = ", ".join(table.column_names)
        added: list[DataFile] = []
        for files, span, byte_count in self._portions(table, touched):
            query = f"SELECT {names} FROM ({rows}) WHERE {span}"
            if files:
                query += f" UNION ALL SELECT {names} FROM ({rows_of(table, files)}) AS there {kept}"
            is_small = are_few and byte_count <= FEW_BYTES
            added += data_files.write(cursor, query, table, self.path(table), are_few=is_small)
        return self.commit(table, transaction, added, [data_files.file_name(path) for path in touched])

    def _portions(self, table: Table, files: list[str]) -> Iterator[tuple[list[str], str, int]]:
        """Files to rewrite, in portions that there is memory for, in the order of their rows; which of the new rows are
        written with each (SQL): there is always one without an end; and how many bytes the files are.
        """
        value = _leading(table)
        known = self.newest(table) if files else None
        starts = delta_rs.starts(known, self.path(table), value.column) if value and known else {}
        sizes = delta_rs.sizes(known, self.path(table)) if known else {}
        portion, size, begin = list[str](), 0, "true"
        for file in sorted(files, key=lambda each: starts.get(each) or 0):
            bytes_of_file = sizes[file]
            if value and portion and size + bytes_of_file > PORTION_BYTES and (start := starts.get(file)) is not None:
                yield portion, f"{begin} AND {value.sql} < {start}", size
                portion, size, begin = [], 0, f"{value.sql} >= {start}"
            portion.append(file)
            size += bytes_of_file
        yield portion, begin, size

    def _near(self, cursor: Cursor, table: Table) -> list[str]:
        """The files that may have rows with the keys of the rows in `merged`, as their statistics say."""
        value = _leading(table)
        if value is None:
            return self.files(table)
        ((low, high),) = cursor.execute(f"SELECT min({value.sql}), max({value.sql}) FROM merged").fetchall()
        return [] if low is None else self.files(table, value.column, [(low, high + 1)])


@dataclass(frozen=True)
class _Value:
    """A column by which a table's files are told apart, and its value as a number (SQL)."""

    column: str
    sql: str


def _leading(table: Table) -> _Value | None:
    """The first column with statistics, if that is a number or a time, and never null."""
    column = next((column for column in table.columns if column.name in (table.statistics or table.key)), None)
    if column is None or column.type not in {"BIGINT", "TIMESTAMP"} or not column.is_required:
        return None
    return _Value(column.name, f"epoch_us({column.name})" if column.type == "TIMESTAMP" else column.name)


def _same(name: str, table: Table) -> str:
    """SQL: whether a row of the table, called `there`, has the key of a row of another."""
    required = {column.name for column in table.columns if column.is_required}
    return " AND ".join(
        f"there.{key} {'=' if key in required else 'IS NOT DISTINCT FROM'} {name}.{key}" for key in table.key
    )
