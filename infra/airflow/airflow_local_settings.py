"""How Airflow opens its SQLite database, and how its API server ends: Airflow finds this module by its name."""

import atexit
import gc
import sys
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

__all__ = ["create_metadata_engine"]

if "api-server" in sys.argv:
    # At its end, Python looks through all objects once more for what refers to itself. Here there is a class for each
    # version of each message: that takes three seconds and more of a processor, after all has been answered.
    atexit.register(gc.freeze)


def create_metadata_engine(
    sql_alchemy_conn: str, *, engine_args: dict[str, Any], connect_args: dict[str, Any]
) -> Engine:
    """As Airflow's own, but that a nested transaction on SQLite has the right to write from its beginning.

    It reads, then writes. If another process has written in between, SQLite refuses the write at once, however long one
    would wait: `airflow backfill create` failed so beside a scheduler.
    """
    engine = create_engine(sql_alchemy_conn, connect_args=connect_args, **engine_args)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "savepoint", _begin_writing)
    return engine


def _begin_writing(connection: Connection, _name: str) -> None:
    database: Any = connection.connection.dbapi_connection
    if not database.in_transaction:
        database.execute("BEGIN IMMEDIATE")
