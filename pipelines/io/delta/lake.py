"""Delta tables: created, checked, read and written. The only code that knows their paths and options."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote

import pyarrow as pa
from delta import DeltaTable
from delta.tables import DeltaMergeBuilder
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pipelines.errors import LakeMismatch
from pipelines.io.delta import delta_rs
from pipelines.io.delta.definition import (
    columns_ddl,
    differences,
    outgrown_constraints,
    parsed_schema,
    schema_of,
)
from pipelines.io.delta.delta_rs import Spans
from pipelines.io.delta.row_sizes import all_small, long_columns, marked
from pipelines.io.delta.storage import MISREAD_PATH, Storage
from pipelines.io.delta.table_log import Change, TableLog, Transaction
from pipelines.tables import Table

MANY = 1 << 62
FEW_ROWS = 250_000
"""Up to here, rows are handed to this process, as some 50 MB, and written without Spark."""


class Lake:
    """The tables under one root.

    Between two of its own writes to a table it accepts only commits that change no row, such as a compaction.

    Args:
        spark: The session that reads and writes them.
        root: Folder or URI.
        versions: By table name, the version up to which commits are known to be in order; the newest, where not given.
    """

    def __init__(self, spark: SparkSession, root: str, versions: Mapping[str, int] | None = None) -> None:
        self.root = root
        self.versions = dict(versions or {})
        self.spark = spark
        self._storage = Storage(spark)
        self._session_transaction = threading.Lock()
        self.is_folder = "://" not in root and not MISREAD_PATH.search(root)

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
        outgrown = outgrown_constraints(table, definition[1]) if self.is_folder else {}
        for name, condition in outgrown.items():
            delta_rs.replace_constraint(self.path(table), name, condition)
        if found := list(differences(table, *(self._definition(table) if outgrown else definition))):
            raise LakeMismatch(
                f"Table {table.name} at {self.path(table)} is not the one this code writes: {'; '.join(found)}. "
                "Run the code that wrote it, or point PTS_LAKE at a new place: the job builds the lake anew."
                + (f" Or delete this folder alone: `pts rebuild {table.name}` makes it from silver." * is_gold(table))
            )

    def _create(self, table: Table) -> None:
        path, columns = self.path(table), columns_ddl(table)
        refusal = f"Table {table.name} cannot be created at {path}"
        if self.is_folder:
            if foreign := set(self._storage.names(path)) - {"_delta_log"}:
                raise LakeMismatch(f"{refusal}: there are other files, for example {min(foreign)}.")
            delta_rs.create(path, parsed_schema(columns).json(), table)
            return
        properties = ", ".join(f"'{name}' = '{_quoted(value)}'" for name, value in table.properties.items())
        try:
            self.spark.sql(
                f"CREATE TABLE delta.`{path}` ({columns}) USING DELTA "
                f"COMMENT '{_quoted(table.doc)}' TBLPROPERTIES ({properties})"
            )
        except AnalysisException as error:
            raise LakeMismatch(f"{refusal}: {error.getMessage()}") from error

    def _definition(self, table: Table) -> tuple[T.StructType, Mapping[str, str]]:
        """The table's schema and properties."""
        if self.is_folder:
            schema, properties = delta_rs.definition(self.path(table))
            return T.StructType.fromJson(json.loads(schema)), properties
        detail = DeltaTable.forPath(self.spark, self.path(table)).detail().first()
        assert detail is not None
        return self.read(table).schema, detail["properties"]

    def exists(self, table: Table) -> bool:
        if self.is_folder:
            return delta_rs.exists(self.path(table))
        return DeltaTable.isDeltaTable(self.spark, self.path(table))

    def read(self, table: Table) -> DataFrame:
        """The table's rows at its newest version."""
        return self.spark.read.format("delta").load(self.path(table))

    def read_at(self, table: Table, version: int) -> DataFrame:
        """The table's rows at a version."""
        if self.is_folder:
            return self._rows_of(table, delta_rs.files(self.path(table), version=version))
        return self.spark.read.format("delta").option("versionAsOf", version).load(self.path(table))

    def scan(self, table: Table, column: str | None = None, spans: Spans = ()) -> DataFrame:
        """The same, for a few rows among them: without the job that Spark makes of finding the table's files.

        With a column, files whose statistics say that it holds no value within the spans are left out.
        """
        return self._rows_of(table, self.files(table, column, spans)) if self.is_folder else self.read(table)

    def files(self, table: Table, column: str | None = None, spans: Spans = ()) -> list[str]:
        """The paths of those files. Of a lake in a folder only."""
        return delta_rs.files(self.path(table), column, spans)

    def matching(self, table: Table, keys: pa.Table, column: str | None = None, spans: Spans = ()) -> DataFrame:
        """The rows that have the values of one of the keys: where these are few, it spares Spark all other rows.

        With a column, files are left out as in `scan`. Of a lake in a folder only.
        """
        there = self.files(table, column, spans)
        if not there or not keys.num_rows:
            return self._rows_of(table, [])
        return self.spark.createDataFrame(delta_rs.matching(there, keys), schema_of(table))

    def look_up(self, table: Table, column: str, spans: Spans) -> pa.Table:
        """The few rows in which a column of numbers holds a value within the spans."""
        if self.is_folder:
            return delta_rs.rows(self.path(table), column, spans)
        within = F.lit(False)
        for begin, end in spans:
            within |= (F.col(column) >= begin) & (F.col(column) < end)
        return self.read(table).where(within).toArrow()

    def greatest(self, table: Table, column: str) -> int | None:
        """A column's greatest number; at least that in all files with statistics. None when there is none."""
        if self.is_folder:
            return delta_rs.greatest(self.path(table), column)
        value: int | None = self.read(table).agg(F.max(column)).collect()[0][0]
        return value

    def added(self, changes: Iterable[Change], table: Table) -> DataFrame:
        """The rows that commits added, from their own files: without a look at the rest of the table.

        Fails when they are gone, which takes a compaction and a VACUUM since.
        """
        return self._rows_of(table, self.added_files(changes, table))

    def added_files(self, changes: Iterable[Change], table: Table) -> list[str]:
        """The paths of those files."""
        return [f"{self.path(table)}/{name}" for change in changes for name in change.files]

    def _rows_of(self, table: Table, files: list[str]) -> DataFrame:
        schema = schema_of(table)
        if files:
            return self.spark.read.schema(schema).parquet(*files)
        # By the condition Spark sees that there is nothing, and leaves out what would be joined with it.
        return self.spark.createDataFrame([], schema).where(F.lit(False))

    def append(self, rows: DataFrame, table: Table, transaction: Transaction, expected: int = MANY) -> Change:
        """Adds the rows, once per transaction however often it is called; returns the commit that holds them.

        `expected` is about how many there are, here and in the other writes: few are written in a shorter way.
        """
        if (few := self.in_memory(rows, long_columns(table), expected)) is None:
            return self._save(rows.write.mode("append"), table, transaction)
        delta_rs.append(self.path(table), few, table, transaction)
        return self._commit_of(table, transaction)

    def replace(self, rows: DataFrame, table: Table, transaction: Transaction) -> Change:
        """Puts the rows in place of all there are, in one commit, once per transaction; returns it."""
        return self._save(rows.write.mode("overwrite"), table, transaction)

    def replace_where(self, rows: DataFrame, condition: str, table: Table, transaction: Transaction) -> Change:
        """The same, of the rows for which a condition (SQL) holds; it must hold for the new ones, too."""
        return self._save(rows.write.mode("overwrite").option("replaceWhere", condition), table, transaction)

    def merge(self, rows: DataFrame, table: Table, transaction: Transaction, expected: int = MANY) -> Change:
        """Puts the rows in place of those with the same key, once per transaction; returns their commit."""
        if (few := self.in_memory(rows, long_columns(table), expected)) is None:
            with self._transaction(transaction):
                self._merger(rows, table).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        else:
            delta_rs.merge(self.path(table), few, table, transaction)
        return self._commit_of(table, transaction)

    def add(self, rows: DataFrame, table: Table, transaction: Transaction, expected: int = MANY) -> Change:
        """Adds the rows' measures to those of the row with the same key, once per transaction; returns the commit."""
        if (few := self.in_memory(rows, long_columns(table), expected)) is None:
            sums: dict[str, str | Column] = {
                name: F.col(f"target.{name}") + F.col(f"source.{name}") for name in table.measures
            }
            with self._transaction(transaction):
                self._merger(rows, table).whenMatchedUpdate(set=sums).whenNotMatchedInsertAll().execute()
        else:
            delta_rs.add(self.path(table), few, table, transaction)
        return self._commit_of(table, transaction)

    def are_few(self, expected: int) -> bool:
        """Whether so many rows are written in the shorter way."""
        return expected <= FEW_ROWS and self.is_folder

    def in_memory(self, rows: DataFrame, long: tuple[str, ...], expected: int) -> pa.Table | None:
        """The rows, when they are few; None when they are not, or the lake is not a folder, or when one of them has too
        much in the columns that may be long (`marked`).
        """
        return all_small(marked(rows, long, expected).toArrow()) if self.are_few(expected) else None

    def delete(self, condition: Column, table: Table, transaction: Transaction) -> Change:
        """Takes out the rows for which the condition holds, once per transaction; returns the commit."""
        with self._transaction(transaction):
            DeltaTable.forPath(self.spark, self.path(table)).delete(condition)
        return self._commit_of(table, transaction)

    def take_out(self, keys: DataFrame, table: Table, transaction: Transaction) -> Change:
        """Takes out the rows with these keys, once per transaction; returns the commit."""
        with self._transaction(transaction):
            self._merger(keys, table).whenMatchedDelete().execute()
        return self._commit_of(table, transaction)

    def _save(self, writer: DataFrameWriter, table: Table, transaction: Transaction) -> Change:
        writer.option("txnAppId", transaction.app_id).option("txnVersion", transaction.version)
        writer.format("delta").save(self.path(table))
        return self._commit_of(table, transaction)

    def _merger(self, rows: DataFrame, table: Table) -> DeltaMergeBuilder:
        condition = " AND ".join(f"target.{name} <=> source.{name}" for name in table.key)
        target = DeltaTable.forPath(self.spark, self.path(table)).alias("target")
        return target.merge(rows.alias("source"), condition)

    @contextmanager
    def _transaction(self, transaction: Transaction) -> Iterator[None]:
        """MERGE takes its transaction from the session: one MERGE at a time. Left there, it would make the next
        unrelated write vanish.
        """
        names = {"txnAppId": transaction.app_id, "txnVersion": str(transaction.version)}
        with self._session_transaction:
            for name, value in names.items():
                self.spark.conf.set(f"spark.databricks.delta.write.{name}", value)
            try:
                yield
            finally:
                for name in names:
                    self.spark.conf.unset(f"spark.databricks.delta.write.{name}")

    def version(self, table: Table) -> int:
        """The newest version, by a look at what came since the last one known.

        Raises `LakeMismatch` when another program changed rows since.
        """
        return self._seen(table, None)[0]

    def lack(self, table: Table) -> str | None:
        """What a table lacks, for a person: data files of its newest version. None when all are there."""
        named = list(self.files(table) if self.is_folder else map(unquote, self.read(table).inputFiles()))
        # Only now what is there: between the two, a compaction may add files, but takes none away that was named.
        there = set(self._storage.names(self.path(table)))
        missing = sorted(name for uri in named if (name := uri.rpartition("/")[2]) not in there)
        return f"lacks {len(missing)} of its data files, for example {missing[0]}" if missing else None

    def log(self, table: Table) -> TableLog:
        return TableLog(self._storage, self.path(table))

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
                    + way_out(table)
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


def way_out(*tables: Table) -> str:
    """What to do about tables that do not hold what the job wrote."""
    if all(map(is_gold, tables)):
        names = " ".join(table.name for table in tables)
        return f"`pts rebuild {names}` makes {'it' if len(tables) == 1 else 'them'} anew from silver."
    return "Restore the lake from a backup, or rebuild it from the log (docs/runbook.md, 'A table was changed')."


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
