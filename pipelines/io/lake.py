"""Delta tables: how they are created, checked, read and written. The only code that knows their paths and options."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from delta import DeltaTable
from delta.tables import DeltaMergeBuilder
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pipelines.errors import LakeMismatch
from pipelines.io.storage import Storage
from pipelines.tables import Table


@dataclass(frozen=True)
class Transaction:
    """Makes a write idempotent: Delta takes (app_id, version) once, and silently ignores any version that is not newer.

    So the app id must name everything that restarts the count: `<writer>/<flow>`, where the writer is the checkpoint's
    identity, or that of one run of a maintenance command.
    """

    app_id: str
    version: int

    @property
    def writer(self) -> str:
        return self.app_id.partition("/")[0]


@dataclass(frozen=True)
class Commit:
    """One version of a table: its number, and what the files that it added hold."""

    version: int
    row_count: int
    first_kafka_timestamp: datetime | None = None
    last_kafka_timestamp: datetime | None = None


@dataclass(frozen=True)
class Change:
    """A commit that changed a table's rows or definition, or carries a transaction.

    Attributes:
        version: The table version that it made.
        operation: Delta's word for what was done.
        transaction: By whose write; None for a program that gave none.
        added: Statistics of the files that it added.
    """

    version: int
    operation: str
    transaction: Transaction | None
    added: tuple[dict[str, Any], ...]

    @property
    def description(self) -> str:
        """Which version, what and by whom, for a person."""
        by = "another program" if self.transaction is None else f"{self.transaction.app_id} {self.transaction.version}"
        return f"version {self.version} ({self.operation} by {by})"


class Lake:
    """The tables under one root.

    Between two of its own writes to a table it accepts only commits that change no row, such as a compaction.

    Args:
        spark: The session.
        root: Folder or URI.
        versions: By table name, the version up to which commits are known to be in order; the newest, where not given.
    """

    def __init__(self, spark: SparkSession, root: str, versions: Mapping[str, int] | None = None) -> None:
        self.root = root
        self.versions = dict(versions or {})
        self._spark = spark
        self._storage = Storage(spark)

    def path(self, table: Table) -> str:
        return f"{self.root}/{table.name.replace('.', '/')}"

    def ensure(self, table: Table) -> None:
        """Creates the table from its record, or checks that what is there is the same.

        Raises `LakeMismatch` with every difference when it is not: nothing is changed then.
        """
        if not self.exists(table):
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

    def exists(self, table: Table) -> bool:
        return DeltaTable.isDeltaTable(self._spark, self.path(table))

    def read(self, table: Table) -> DataFrame:
        """The table's rows at its newest version."""
        return self._spark.read.format("delta").load(self.path(table))

    def append(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Adds the rows, once per transaction however often it is called; returns the commit that holds them."""
        return self._save(rows, table, transaction, "append")

    def replace(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Puts the rows in place of all there are, in one commit, once per transaction; returns it."""
        return self._save(rows, table, transaction, "overwrite")

    def merge(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Puts the rows in place of those with the same key, once per transaction; returns their commit."""
        with self._transaction(transaction):
            self._matching(rows, table).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        return self._commit_of(table, transaction)

    def add(self, rows: DataFrame, table: Table, transaction: Transaction) -> Commit:
        """Adds the rows' measures to those of the row with the same key, once per transaction; returns the commit."""
        sums: dict[str, str | Column] = {
            name: F.col(f"target.{name}") + F.col(f"source.{name}") for name in table.measures
        }
        with self._transaction(transaction):
            self._matching(rows, table).whenMatchedUpdate(set=sums).whenNotMatchedInsertAll().execute()
        return self._commit_of(table, transaction)

    def delete(self, condition: Column, table: Table, transaction: Transaction) -> Commit:
        """Takes out the rows for which the condition holds, once per transaction; returns the commit."""
        with self._transaction(transaction):
            DeltaTable.forPath(self._spark, self.path(table)).delete(condition)
        return self._commit_of(table, transaction)

    def _save(self, rows: DataFrame, table: Table, transaction: Transaction, mode: str) -> Commit:
        writer = rows.write.format("delta").mode(mode)
        writer.option("txnAppId", transaction.app_id).option("txnVersion", transaction.version).save(self.path(table))
        return self._commit_of(table, transaction)

    def _matching(self, rows: DataFrame, table: Table) -> DeltaMergeBuilder:
        condition = " AND ".join(f"target.{name} <=> source.{name}" for name in table.key)
        target = DeltaTable.forPath(self._spark, self.path(table)).alias("target")
        return target.merge(rows.alias("source"), condition)

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

    def newest_version(self, table: Table) -> int:
        """The newest version, by a look at all of the table's log."""
        names = self._storage.names(f"{self.path(table)}/_delta_log")
        return max(int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name))

    def version(self, table: Table) -> int:
        """The newest version, by a look at what came since the last one known.

        Raises `LakeMismatch` when another program changed rows since.
        """
        return self._seen(table, None)[0]

    def missing_files(self, table: Table) -> list[str]:
        """Names of data files that the newest version consists of and that are not there."""
        there = set(self._storage.names(self.path(table)))
        named = (unquote(uri.rpartition("/")[2]) for uri in self.read(table).inputFiles())
        return sorted(name for name in named if name not in there)

    def changes(self, table: Table, after: int) -> Iterator[Change]:
        """What was done to the table after a version, oldest first; compaction and the like, which change no row, not.

        Commits are numbered without gaps, so only the next one is ever looked for.
        """
        version = after
        while self._storage.exists(self._commit_file(table, version + 1)):
            version += 1
            if change := self._change(table, version):
                yield change

    def _seen(self, table: Table, own: Transaction | None) -> tuple[int, Change | None]:
        """Takes note of the table's new commits: the newest version, and the commit by the own transaction."""
        if table.name not in self.versions:
            self.versions[table.name] = self.newest_version(table)
        found = None
        while self._storage.exists(self._commit_file(table, self.versions[table.name] + 1)):
            change = self._change(table, self.versions[table.name] + 1)
            if change and own and change.transaction == own:
                found = change
            elif change:
                raise LakeMismatch(
                    f"Table {table.name} was changed while the job ran: {change.description}. Only the job changes it. "
                    + way_out(table)
                )
            self.versions[table.name] += 1
        return self.versions[table.name], found

    def _commit_of(self, table: Table, transaction: Transaction) -> Commit:
        """The commit that carries the transaction: a new one, unless the write was a repeat."""
        version, found = self._seen(table, transaction)
        while not found:
            if version < 0 or not self._storage.exists(self._commit_file(table, version)):
                raise LakeMismatch(
                    f"Table {table.name} accepted a write under {transaction.app_id!r} {transaction.version} but no "
                    "commit in its log carries it: that batch was written before, and its commit is gone."
                )
            change = self._change(table, version)
            found = change if change and change.transaction == transaction else None
            version -= 1
        return _commit(found)

    def _change(self, table: Table, version: int) -> Change | None:
        text = self._storage.text(self._commit_file(table, version))
        actions = [json.loads(line) for line in text.splitlines()]
        files = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
        redefines = any("metaData" in action or "protocol" in action for action in actions)
        marks = [Transaction(mark["appId"], mark["version"]) for a in actions if (mark := a.get("txn"))]
        if not (marks or redefines or any(file["dataChange"] for file in files)):
            return None
        operations = [action["commitInfo"]["operation"] for action in actions if "commitInfo" in action]
        added = tuple(json.loads(action["add"].get("stats", "{}")) for action in actions if "add" in action)
        return Change(version, operations[0] if operations else "a change", marks[0] if marks else None, added)

    def _commit_file(self, table: Table, version: int) -> str:
        return f"{self.path(table)}/_delta_log/{version:020d}.json"


def way_out(table: Table) -> str:
    """What to do about a table that does not hold what the job wrote."""
    if table.name.startswith("gold."):
        return f"`pts rebuild {table.name}` makes it anew from silver."
    return "Restore the lake from a backup, or rebuild it from the log (docs/runbook.md, 'A table was changed')."


def _commit(change: Change) -> Commit:
    bounds = [
        stats.get(bound, {}).get("kafka_timestamp") for stats in change.added for bound in ("minValues", "maxValues")
    ]
    times = [datetime.fromisoformat(bound) for bound in bounds if bound]
    return Commit(
        version=change.version,
        row_count=sum(stats["numRecords"] for stats in change.added),
        first_kafka_timestamp=min(times, default=None),
        last_kafka_timestamp=max(times, default=None),
    )


def _nullability(field: T.StructField) -> str:
    return "nullable" if field.nullable else "NOT NULL"


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
