"""`pts sql`: the answer to one query over the lake's tables."""

import pyarrow as pa

from pipelines.commands import Sql
from pipelines.errors import InvalidInput
from pipelines.io.reader import LakeReader
from pipelines.settings import Settings

CATALOG_STATEMENTS = ("describe", "desc", "show", "explain")
"""Statements that only read although Spark's grammar does not take them as a subquery."""


def query(command: Sql, settings: Settings) -> pa.Table:
    """The rows of the query, timestamps in UTC.

    DuckDB answers in a fraction of a second. Spark takes about ten to start, and reads tables with any Delta feature.

    Raises `NotFound` for a lake without tables and for an unknown one, `InvalidInput` for anything but a query and for
    one that the engine rejects.
    """
    reader = LakeReader(settings.lake_root)
    return reader.query(command.query) if command.engine == "duckdb" else _spark_query(command.query, reader, settings)


def _spark_query(sql: str, reader: LakeReader, settings: Settings) -> pa.Table:
    """Registers the tables in the session's catalog, which lives in memory, and collects the answer."""
    names = reader.table_names()
    from pyspark.errors import PySparkException

    from pipelines.session import open_session

    spark = open_session(settings)
    for name in names:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {name.partition('.')[0]}")
        spark.sql(f"DROP TABLE IF EXISTS {name}")  # an external table: its files stay
        spark.catalog.createTable(name, path=f"{reader.root}/{name.replace('.', '/')}", source="delta")
    try:
        return spark.sql(_only_reading(sql)).toArrow()
    except PySparkException as error:
        message = " ".join(str(error).partition(" SQLSTATE")[0].split())
        raise InvalidInput(f"Spark rejects the query: {message.rstrip('.')}.") from error


def _only_reading(sql: str) -> str:
    """The statement in a form that Spark's grammar accepts for a query only: inside a subquery nothing can write."""
    statement = sql.strip().rstrip(";")
    words = statement.split(maxsplit=1)
    is_catalog_statement = bool(words) and words[0].lower() in CATALOG_STATEMENTS
    return statement if is_catalog_statement else f"SELECT * FROM (\n{statement}\n)"
