"""Delta tables: how they are created, checked, read and written. The only code that knows their paths and options."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from delta import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pipelines.errors import LakeMismatch
from pipelines.io.storage import Storage
from pipelines.tables import Table


@dataclass(frozen=True)
class Transaction:
    """Makes a write idempotent: Delta takes (app_id, version) once, and silently ignores any version that is not newer.

    So the app id must name everything that restarts the count: the checkpoint, and the flow.
    """

    app_id: str
    version: int


@dataclass(frozen=True)
class Commit:
    """One version of a table: its number, and what the files that it added hold."""

    version: int
    row_count: int
    first_kafka_timestamp: datetime | None = None
    last_kafka_timestamp: datetime | None = None


class Lake:
    """The tables under one root."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root
        self._spark = spark
        self._storage = Storage(spark)
        self._versions: dict[str, int] = {}

    def path(self, table: Table) -> str:
        return f"{self.root}/{table.name.replace('.', '/')}"

    def ensure(self, table: Table) -> None:
        """Creates the table from its record, or checks that what is there is the same.

        Raises `LakeMismatch` with every difference when it is not: nothing is changed then.
        """
        if not DeltaTable.isDeltaTable(self._spark, self.path(table)):
            self._create(table)
        elif differences := list(self._differences(table)):
            raise LakeMismatch(
                f"Table {table.name} at {self.path(table)} is not the one this code writes: {'; '.join(differences)}. "
                "Run the code that wrote it, or point PTS_LAKE at a new place: the job builds the lake anew."
            )

    def _create(self, table: Table) -> None:
        columns = ", ".join(column.ddl for column in table.columns)
        properties = ", ".join(f"'{name}' = '{_quoted(value)}'" for name, value in table.properties.items())
        cluster_by = f"CLUSTER BY ({', '.join(table.cluster_by)})" if table.cluster_by else ""
        try:
            self._spark.sql(
                f"CREATE TABLE delta.`{self.path(table)}` ({columns}) USING DELTA {cluster_by} "
                f"COMMENT '{_quoted(table.doc)}' TBLPROPERTIES ({properties})"
            )
        except AnalysisException as error:
            raise LakeMismatch(
                f"Table {table.name} cannot be created at {self.path(table)}: {error.getMessage()}"
            ) from error

    def _differences(self, table: Table) -> Iterator[str]:
        detail = DeltaTable.forPath(self._spark, self.path(table)).detail().first()
        assert detail is not None
        fields = {field.name: field for field in self.read(table).schema}
        expected = {field.name: field for field in self._schema(table)}
        for name in expected.keys() - fields.keys():
            yield f"column {name} {expected[name].dataType.simpleString()} is missing"
        for name in fields.keys() - expected.keys():
            yield f"column {name} {fields[name].dataType.simpleString()} is unknown"
        for name in expected.keys() & fields.keys():
            there, here = fields[name], expected[name]
            if there.dataType.simpleString() != here.dataType.simpleString():
                yield f"column {name} is {there.dataType.simpleString()}, not {here.dataType.simpleString()}"
            elif there.nullable != here.nullable:
                yield f"column {name} is {_nullability(there)}, not {_nullability(here)}"
        if not fields.keys() ^ expected.keys() and list(fields) != list(expected):
            yield f"the columns are in the order {', '.join(fields)}, not {', '.join(expected)}"
        if tuple(detail["clusteringColumns"]) != table.cluster_by:
            there_columns = ", ".join(detail["clusteringColumns"])
            yield f"it is clustered by ({there_columns}), not by ({', '.join(table.cluster_by)})"
        there_properties = {
            key: value for key, value in detail["properties"].items() if key in table.properties or "constraints" in key
        }
        for key in sorted(there_properties.keys() | table.properties.keys()):
            if there_properties.get(key) != table.properties.get(key):
                yield f"property {key} is {there_properties.get(key)!r}, not {table.properties.get(key)!r}"

    def _schema(self, table: Table) -> Any:
        columns = ", ".join(
            f"`{column.name}` {column.type}{' NOT NULL' if column.is_required else ''}" for column in table.columns
        )
        return self._spark.createDataFrame([], columns).schema

    def read(self, table: Table) -> DataFrame:
        """The table's rows at its newest version."""
        return self._spark.read.format("delta").load(self.path(table))

    def append(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Adds the rows, once per transaction however often it is called; returns the commit that holds them."""
        writer = rows.write.format("delta").mode("append")
        writer.option("txnAppId", transaction.app_id).option("txnVersion", transaction.version).save(self.path(table))
        return self._commit_of(table, transaction)

    def merge(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Puts the rows in place of those with the same key, once per transaction; returns their commit."""
        condition = " AND ".join(f"target.{name} <=> source.{name}" for name in table.key)
        with self._transaction(transaction):
            (
                DeltaTable.forPath(self._spark, self.path(table))
                .alias("target")
                .merge(rows.alias("source"), condition)
                .whenMatchedUpdateAll()
                .whenNotMatchedInsertAll()
                .execute()
            )
        return self._commit_of(table, transaction)

    @contextmanager
    def _transaction(self, transaction: Transaction) -> Iterator[None]:
        """MERGE takes its transaction from the session. Left there, it would make the next unrelated write vanish."""
        names = {"txnAppId": transaction.app_id, "txnVersion": str(transaction.version)}
        for name, value in names.items():
            self._spark.conf.set(f"spark.databricks.delta.write.{name}", value)
        try:
            yield
        finally:
            for name in names:
                self._spark.conf.unset(f"spark.databricks.delta.write.{name}")

    def version(self, table: Table) -> int:
        """The newest version. Commits are numbered without gaps, so after a first look only the next is looked for."""
        if table.name not in self._versions:
            names = self._storage.names(f"{self.path(table)}/_delta_log")
            numbers = [
                int(name.removesuffix(".json")) for name in names if name.endswith(".json") and name[:20].isdigit()
            ]
            self._versions[table.name] = max(numbers)
        while self._storage.exists(self._commit_file(table, self._versions[table.name] + 1)):
            self._versions[table.name] += 1
        return self._versions[table.name]

    def _commit_file(self, table: Table, version: int) -> str:
        return f"{self.path(table)}/_delta_log/{version:020d}.json"

    def _commit_of(self, table: Table, transaction: Transaction) -> Commit:
        """The commit that carries the transaction: the newest, unless the write was a repeat or others came since."""
        for version in range(self.version(table), -1, -1):
            actions = [json.loads(line) for line in self._storage.text(self._commit_file(table, version)).splitlines()]
            marks = [action["txn"] for action in actions if "txn" in action]
            wanted = {"appId": transaction.app_id, "version": transaction.version}
            if marks and wanted.items() <= marks[0].items():
                return _commit(version, [json.loads(action["add"]["stats"]) for action in actions if "add" in action])
        raise LakeMismatch(
            f"Table {table.name} accepted a write under {transaction.app_id!r} {transaction.version} but no commit in "
            "its log carries it: that batch was written before, and its commit is gone."
        )


def _commit(version: int, statistics: list[dict[str, Any]]) -> Commit:
    bounds = [
        stats.get(bound, {}).get("kafka_timestamp") for stats in statistics for bound in ("minValues", "maxValues")
    ]
    times = [datetime.fromisoformat(bound) for bound in bounds if bound]
    return Commit(
        version=version,
        row_count=sum(stats["numRecords"] for stats in statistics),
        first_kafka_timestamp=min(times, default=None),
        last_kafka_timestamp=max(times, default=None),
    )


def _nullability(field: T.StructField) -> str:
    return "nullable" if field.nullable else "NOT NULL"


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
