"""`pts sql-server`: the lake's tables for tools that speak JDBC or ODBC, until it is asked to stop."""

from collections.abc import Sequence
from contextlib import suppress

from pyspark.sql import SparkSession

from pipelines import commands, java_process
from pipelines.errors import NotFound, StackError
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.spark.thrift_server import PROPERTIES, Observer, listening
from pipelines.processes.ports import why_unusable
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.session import close_session, open_session
from pipelines.settings import Settings
from pipelines.tables import TABLES

LOOK_SECONDS = 5.0
"""How often it looks for tables that the lake did not have before."""


def run(_command: commands.SqlServer, settings: Settings, observers: Sequence[Observer] = ()) -> None:
    """Answers until SIGTERM or Ctrl-C, and tells observers of queries and sessions. A query sees the newest version of
    each of its tables.

    Raises `StackError` when the port is taken, `JavaEnded` when Spark's Java ends by itself.
    """
    port = settings.sql.port
    if why := why_unusable(port):
        raise StackError(f"Port {port} cannot be used: {why}. Set PTS_SQL__PORT to a free port.")
    spark = open_session(settings, required=PROPERTIES)
    reader, tables = LakeReader(settings.lake_root), list[str]()
    _add_new_tables(spark, reader, tables)
    with signals_ask_to_stop() as stop, listening(spark, settings.sql, tables, observers):
        while not stop.wait(LOOK_SECONDS):
            if java_process.exit_code() is not None:
                raise java_process.ended("while it answered")
            _add_new_tables(spark, reader, tables)
    close_session(spark)


def _add_new_tables(spark: SparkSession, reader: LakeReader, tables: list[str]) -> None:
    """Puts the tables that are not yet among those into the session's catalog, which lives in memory, and their names
    among them.
    """
    with suppress(NotFound):  # of a lake in which no table is yet
        for name in reader.table_names():
            if name in tables:
                continue
            with suppress(NotFound):  # of a table without a version yet
                reader.open(name)
                if not spark.catalog.databaseExists(schema := name.partition(".")[0]):
                    spark.sql(f"CREATE SCHEMA {schema}")
                doc = next((table.doc for table in TABLES if table.name == name), "")
                spark.catalog.createTable(name, path=reader.path(name), source="delta", description=doc)
                tables.append(name)
