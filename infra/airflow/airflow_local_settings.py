"""How Airflow opens its SQLite database, and how its services end: Airflow finds this module by its name."""

import atexit
import gc
import os
import signal
import sys
from threading import Timer
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["create_metadata_engine"]

A_MOMENT_SECONDS = 0.1

if "api-server" in sys.argv:
    # At its end, Python looks through all objects once more for what refers to itself. Here there is a class for each
    # version of each message: that takes three seconds and more of a processor, after all has been answered.
    atexit.register(gc.freeze)


def ask_again(ignored: "UnraisableHookArgs") -> None:
    """Asks this process once more to end, where what Python ignored was its end.

    Airflow's handlers of SIGTERM raise SystemExit wherever the main thread is. In a callback of the garbage
    collector's, of which SQLAlchemy has many, nothing comes of it: the scheduler went on until it was killed.
    """
    sys.__unraisablehook__(ignored)
    if issubclass(ignored.exc_type, SystemExit):
        Timer(A_MOMENT_SECONDS, os.kill, (os.getpid(), signal.SIGTERM)).start()  # the callback has returned by then


if {"scheduler", "dag-processor"} & set(sys.argv):
    sys.unraisablehook = ask_again


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
