"""What is in the Delta tables of a lake, for Spark and for DuckDB, and what their logs say of it."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.io.delta import delta_rs
from pipelines.io.delta.catalog import Catalog
from pipelines.io.delta.data_files import empty_rows
from pipelines.io.delta.definition import schema_of
from pipelines.io.delta.delta_rs import Spans
from pipelines.io.delta.delta_table import opened
from pipelines.io.delta.parquet import file_list, parquet_rows
from pipelines.io.delta.table_log import Change
from pipelines.tables import Table


class ReadableLake(Catalog):
    """The tables under one root, to read.

    Args:
        spark: The session in which frames are read; none are without one.
        root: The folder.
    """

    def __init__(self, spark: SparkSession | None, root: str) -> None:
        super().__init__(root)
        self._spark = spark

    @property
    def spark(self) -> SparkSession:
        """The session in which frames are read."""
        assert self._spark is not None, "the lake was opened without a session"
        return self._spark

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
        return delta_rs.files(self.newest(table) if version is None else opened(path, version), path, column, spans)

    def look_up(self, table: Table, column: str, spans: Spans) -> pa.Table:
        """The few rows in which a column of numbers holds a value within the spans."""
        return delta_rs.rows(self.newest(table), self.path(table), column, spans)

    def greatest(self, table: Table, column: str) -> int | None:
        """A column's greatest number in all files with statistics. None when there is none."""
        return delta_rs.greatest(self.newest(table), column)

    def row_count(self, table: Table) -> int:
        """How many rows the table has."""
        return delta_rs.row_count(self.newest(table))

    def size(self, table: Table) -> tuple[int, int]:
        """How many files the table has, and how many bytes they are."""
        return delta_rs.size(self.newest(table))

    def added(self, changes: Iterable[Change], table: Table) -> str:
        """A query that gives the rows that commits added, from their own files: without a look at the rest of the
        table. Fails when they are gone, which takes a compaction and a VACUUM since.
        """
        return rows_of(table, [f"{self.path(table)}/{name}" for change in changes for name in change.files])

    def missing_files(self, table: Table) -> str | None:
        """Which data files of its newest version a table lacks, for a person. None when all are there."""
        named = self.files(table)
        # Only now what is there: between the two, a compaction may add files, but takes none away that was named.
        there = self.file_names(table)
        missing = sorted(name for path in named if (name := path.rpartition("/")[2]) not in there)
        return f"lacks {len(missing)} of its data files, for example {missing[0]}" if missing else None


def rows_of(table: Table, files: Sequence[str]) -> str:
    """A query of DuckDB's that gives the rows of files of a table."""
    return f"FROM {parquet_rows(file_list(files))}" if files else empty_rows(table)
