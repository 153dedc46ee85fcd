"""`pts sql`: the answer to one query over the lake's tables."""

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.commands import Sql
from pipelines.errors import InvalidInput, LakeMismatch
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.duckdb.unsealing import masked_answer
from pipelines.io.keys.clearance import Clearance
from pipelines.progress import part
from pipelines.queries.newest import newest
from pipelines.settings import Settings
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import OPS_BATCHES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def query(command: Sql, settings: Settings) -> pa.Table:
    """The rows of the query, timestamps in UTC; of the tables as they are, or as they were after a batch.

    DuckDB answers in a fraction of a second, and shows sealed fields to who may read the key store. Spark takes about
    ten to start, reads tables with any Delta feature, and shows a mask in place of each envelope to everybody: what it
    has no memory for would be in files.

    Raises `NotFound` for a lake without tables, an unknown table, and a batch that cannot be read (any more);
    `InvalidInput` for anything but a query and for one that the engine rejects; `KeysUnavailable` for a key store that
    is none.
    """
    at = None if command.at_batch is None else snapshot(settings.lake_root, command.at_batch)
    reader = LakeReader(settings.lake_root, at.versions, at.batch_id) if at else newest(settings.lake_root)
    if command.engine == "spark":
        return masked_answer(_spark_query(command, reader, at, settings))
    with part("Running the query"), closing(Clearance.of(settings)) as clearance:
        return reader.answer(command.query, clearance)


def _spark_query(command: Sql, reader: LakeReader, at: Snapshot | None, settings: Settings) -> pa.Table:
    """Registers the tables in the session's catalog, which lives in memory, and collects the answer."""
    names = reader.tables_in(command.query)
    for name in names if at else ():
        with suppress(LakeMismatch):  # of a table that only Spark can read
            reader.check_files(name)
    from pyspark.errors import PySparkException

    from pipelines.io.spark.read_only import check_is_query
    from pipelines.session import open_session

    spark = open_session(settings)
    for name in names:
        _register(spark, name, reader.path(name), at)
    spark.conf.set("spark.sql.variable.substitute", "false")  # ${env:…} would be this process's environment
    try:
        check_is_query(spark, command.query, names)
        with part("Running the query"):
            return spark.sql(command.query).toArrow()
    except PySparkException as error:
        message = " ".join(str(error).partition(" SQLSTATE")[0].split())
        raise InvalidInput(f"Spark rejects the query: {message.rstrip('.')}.") from error


def _register(spark: "SparkSession", name: str, path: str, at: Snapshot | None) -> None:
    """The table at the path under its name, in place of what the name stood for; at a batch, a view of its version."""
    schema, _, short = name.partition(".")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    views = {row["viewName"] for row in spark.sql(f"SHOW VIEWS IN {schema}").collect() if not row["isTemporary"]}
    spark.sql(f"DROP {'VIEW' if short in views else 'TABLE'} IF EXISTS {name}")  # an external table: its files stay
    if at is None:
        spark.catalog.createTable(name, path=path, source="delta")
        return
    rows = f"SELECT * FROM delta.`{path.replace('`', '``')}`"
    is_ledger = name == OPS_BATCHES.name
    pinned = f"WHERE batch_id <= {at.batch_id}" if is_ledger else f"VERSION AS OF {at.versions[name]}"
    spark.sql(f"CREATE VIEW {name} AS {rows} {pinned}")
