"""Delta tables: created, checked, read and written. The only code that knows their paths.

What a table becomes is written by DuckDB into new files of its folder, and becomes the table's in one commit by
delta-rs, which carries a transaction.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from duckdb import DuckDBPyConnection as Cursor
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pipelines.errors import InvalidInput, LakeMismatch
from pipelines.io.delta import data_files, delta_rs, duck
from pipelines.io.delta.data_files import DataFile
from pipelines.io.delta.definition import differences, outgrown_constraints, schema_of
from pipelines.io.delta.delta_rs import Spans
from pipelines.io.delta.delta_table import MISREAD_PATH, Tables, has_long_log, opened
from pipelines.io.delta.parquet import file_list, parquet_rows
from pipelines.io.delta.table_log import Change, TableLog, Transaction
from pipelines.tables import Table

NO_BOUND = 1 << 62

PORTION_BYTES = 64 << 20
"""Bytes of files that are sorted at once: DuckDB holds them unpacked, some five times as large."""


class Lake:
    """The tables under one root.

    Between two of its own writes to a table it accepts only commits that change no row, such as a compaction.

    Args:
        spark: The session in which frames are read; none are without one.
        root: The folder.
        versions: By table name, the version up to which commits are known to be in order; the newest, where not given.

    Raises `InvalidInput` for a root that some reader or writer would misread.
    """

    def __init__(self, spark: SparkSession | None, root: str, versions: Mapping[str, int] | None = None) -> None:
        if "://" in root or MISREAD_PATH.search(root):
            raise InvalidInput(
                f"The lake's path {root} is not one of a folder that all readers and writers take as it is: a name "
                "without :// [ ] * ? ^ | \\ and %xx is needed. Set PTS_LAKE to another place."
            )
        self.root = root
        self.versions = dict(versions or {})
        self._spark = spark
        self._tables = Tables()

    @property
    def spark(self) -> SparkSession:
        """The session in which frames are read."""
        assert self._spark is not None, "the lake was opened without a session"
        return self._spark

    def in_session(self, spark: SparkSession) -> "Lake":
        """The lake for another session, with what this one knows of the tables."""
        other = Lake(spark, self.root, self.versions)
        other._tables = self._tables
        return other

    def path(self, table: Table) -> str:
        return f"{self.root}/{table.folder}"

    def ensure(self, table: Table) -> None:
        """Creates the table from its record, or checks that what is there is the same; a condition that was replaced by
        a wider one since, it replaces there.

        Raises `LakeMismatch` with every difference when it is not: nothing is changed then.
        """
        if not self.exists(table):
            self._create(table)
            return
        definition = self._definition(table)
        outgrown = outgrown_constraints(table, definition[1])
        for name, condition in outgrown.items():
            delta_rs.replace_constraint(self.path(table), name, condition)
        if found := list(differences(table, *(self._definition(table) if outgrown else definition))):
            raise LakeMismatch(
                f"Table {table.name} at {self.path(table)} is not the one this code writes: {'; '.join(found)}. "
                "Run the code that wrote it, or point PTS_LAKE at a new place: the job builds the lake again."
                + (f" Or delete this folder alone: `pts rebuild {table.name}` makes it from silver." * is_gold(table))
            )

    def _create(self, table: Table) -> None:
        path = self.path(table)
        if foreign := _names(path) - {"_delta_log"}:
            raise LakeMismatch(
                f"Table {table.name} cannot be created at {path}: there are other files, for example {min(foreign)}."
            )
        delta_rs.create(path, schema_of(table, with_comments=True).json(), table)

    def _definition(self, table: Table) -> tuple[T.StructType, Mapping[str, str]]:
        """The table's schema and properties."""
        schema, properties = delta_rs.definition(self.path(table))
        return T.StructType.fromJson(json.loads(schema)), properties

    def exists(self, table: Table) -> bool:
        return delta_rs.exists(self.path(table))

    def read(self, table: Table, version: int | None = None) -> DataFrame:
        """The table's rows, at its newest version unless told otherwise, for Spark: without the job that Spark makes of
        finding the table's files.
        """
        return self._frame(table, self.files(table, version=version))

    def scan(self, table: Table, column: str, spans: Spans) -> DataFrame:
        """The table's rows, without files whose statistics say that a column holds no value within the spans."""
        return self._frame(table, self.files(table, column, spans))

    def _frame(self, table: Table, files: list[str]) -> DataFrame:
        schema = schema_of(table)
        return self.spark.read.schema(schema).parquet(*files) if files else self.spark.createDataFrame([], schema)

    def rows(self, table: Table, column: str | None = None, spans: Spans = (), version: int | None = None) -> str:
        """A query of DuckDB's that gives the rows; with a column, as in `scan`, with a version, as in `read`."""
        return rows_of(table, self.files(table, column, spans, version))

    def files(
        self, table: Table, column: str | None = None, spans: Spans = (), version: int | None = None
    ) -> list[str]:
        """The paths of those files."""
        path = self.path(table)
        return delta_rs.files(self._newest(table) if version is None else opened(path, version), path, column, spans)

    def look_up(self, table: Table, column: str, spans: Spans) -> pa.Table:
        """The few rows in which a column of numbers holds a value within the spans."""
        return delta_rs.rows(self._newest(table), self.path(table), column, spans)

    def greatest(self, table: Table, column: str) -> int | None:
        """A column's greatest number in all files with statistics. None when there is none."""
        return delta_rs.greatest(self._newest(table), column)

    def row_count(self, table: Table) -> int:
        """How many rows the table has."""
        return delta_rs.row_count(self._newest(table))

    def added(self, changes: Iterable[Change], table: Table) -> str:
        """A query that gives the rows that commits added, from their own files: without a look at the rest of the
        table. Fails when they are gone, which takes a compaction and a VACUUM since.
        """
        return rows_of(table, [f"{self.path(table)}/{name}" for change in changes for name in change.files])

    def commit_by(self, table: Table, transaction: Transaction) -> Change | None:
        """The commit that carries the transaction; None if none does yet.

        Raises `LakeMismatch` as `version`.
        """
        if not delta_rs.has(self._newest(table), transaction):
            self.version(table)
            return None
        return self._commit_of(table, transaction)

    def commit(
        self, table: Table, transaction: Transaction, added: Sequence[DataFile], removed: Sequence[str] = ()
    ) -> Change | None:
        """Puts files of the table's folder into it, and takes out others by their names, once per transaction however
        often it is called; returns the commit that did. None when there are no files, and no commit.
        """
        if not (added or removed):
            return self.commit_by(table, transaction)
        delta_rs.commit(self._newest(table), self.path(table), added, removed, transaction)
        made = self._commit_of(table, transaction)
        if has_long_log(self.path(table), made.version):
            self._newest(table).create_checkpoint()
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
        old = [_name(file) for file in self.files(table)]
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
        return self._rewrite(cursor, "FROM merged", gone, kept, table, transaction, near=self._near(cursor, table))

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
        """
        near = self.files(table) if near is None else near
        touched: list[str] = []
        if near:
            there = parquet_rows(file_list(near), with_filename=True)
            found_in = cursor.execute(f"SELECT DISTINCT filename FROM {there} AS there {gone}").fetchall()
            touched = sorted(path for (path,) in found_in)
        names = ", ".join(table.column_names)
        added: list[DataFile] = []
        for files, span in self._portions(table, touched):
            query = f"SELECT {names} FROM ({rows}) WHERE {span}"
            if files:
                query += f" UNION ALL SELECT {names} FROM ({rows_of(table, files)}) AS there {kept}"
            added += data_files.write(cursor, query, table, self.path(table))
        return self.commit(table, transaction, added, [_name(path) for path in touched])

    def _portions(self, table: Table, files: list[str]) -> Iterator[tuple[list[str], str]]:
        """Files to rewrite, in portions that there is memory for, in the order of their rows; and which of
        the new rows are written with each (SQL): there is always one without an end.
        """
        value = _leading(table)
        starts = delta_rs.starts(self._newest(table), self.path(table), value.column) if value and files else {}
        portion, size, begin = list[str](), 0, "true"
        for file in sorted(files, key=lambda each: starts.get(each) or 0):
            bytes_of_file = Path(file).stat().st_size
            if value and portion and size + bytes_of_file > PORTION_BYTES and (start := starts.get(file)) is not None:
                yield portion, f"{begin} AND {value.sql} < {start}"
                portion, size, begin = [], 0, f"{value.sql} >= {start}"
            portion.append(file)
            size += bytes_of_file
        yield portion, begin

    def _near(self, cursor: Cursor, table: Table) -> list[str]:
        """The files that may have rows with the keys of the rows in `merged`, as their statistics say."""
        value = _leading(table)
        if value is None:
            return self.files(table)
        ((low, high),) = cursor.execute(f"SELECT min({value.sql}), max({value.sql}) FROM merged").fetchall()
        return [] if low is None else self.files(table, value.column, [(low, high + 1)])

    def version(self, table: Table) -> int:
        """The newest version, by a look at what came since the last one known.

        Raises `LakeMismatch` when another program changed rows since.
        """
        return self._seen(table, None)[0]

    def lack(self, table: Table) -> str | None:
        """What a table lacks, for a person: data files of its newest version. None when all are there."""
        named = self.files(table)
        # Only now what is there: between the two, a compaction may add files, but takes none away that was named.
        there = _names(self.path(table))
        missing = sorted(name for path in named if (name := _name(path)) not in there)
        return f"lacks {len(missing)} of its data files, for example {missing[0]}" if missing else None

    def _newest(self, table: Table) -> DeltaTable:
        return self._tables.newest(self.path(table))

    def log(self, table: Table) -> TableLog:
        return TableLog(self.path(table))

    def _seen(self, table: Table, own: Transaction | None) -> tuple[int, Change | None]:
        """Takes note of the table's new commits: the newest version, and the commit by the own transaction."""
        log = self.log(table)
        if table.name not in self.versions:
            self.versions[table.name] = log.newest_version()
        found = None
        while log.has(self.versions[table.name] + 1):
            change = log.change(self.versions[table.name] + 1)
            if change and own and change.transaction == own:
                found = change
            elif change:
                raise LakeMismatch(
                    f"Table {table.name} was changed while the job ran: {change.description}. Only the job changes it. "
                    + remedy(table)
                )
            self.versions[table.name] += 1
        return self.versions[table.name], found

    def _commit_of(self, table: Table, transaction: Transaction) -> Change:
        """The commit that carries the transaction: a new one, unless the write was a repeat."""
        log = self.log(table)
        version, found = self._seen(table, transaction)
        while not found:
            if version < 0 or not log.has(version):
                raise LakeMismatch(
                    f"Table {table.name} accepted a write under {transaction.app_id!r} {transaction.version} but no "
                    "commit in its log carries it: that batch was written before, and its commit is gone."
                )
            change = log.change(version)
            found = change if change and change.transaction == transaction else None
            version -= 1
        return found


def is_gold(table: Table) -> bool:
    """Whether the table follows from silver."""
    return table.name.startswith("gold.")


def remedy(*tables: Table) -> str:
    """What to do about tables that do not hold what the job wrote."""
    if all(map(is_gold, tables)):
        names = " ".join(table.name for table in tables)
        return f"`pts rebuild {names}` rebuilds {'it' if len(tables) == 1 else 'them'} from silver."
    return "Restore the lake from a backup, or rebuild it from the log (docs/runbook.md, 'A table was changed')."


def rows_of(table: Table, files: Sequence[str]) -> str:
    """A query of DuckDB's that gives the rows of files of a table."""
    return f"FROM {parquet_rows(file_list(files))}" if files else data_files.empty_rows(table)


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


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _names(folder: str) -> set[str]:
    """What is in a folder; nothing when there is none."""
    return {each.name for each in Path(folder).iterdir()} if Path(folder).exists() else set()
