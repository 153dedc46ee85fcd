"""DuckDB in this process, which computes what tables become."""

import tempfile
import uuid
from functools import cache
from pathlib import Path

import duckdb

from pipelines.lake_root import is_in_store

MEMORY_LIMIT = "1GiB"
"""What it holds of rows; beyond that, it works on disk."""

_stores = set[str]()
"""Roots in object stores that it must reach."""


def cursor(threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of its own to the process's DuckDB: what it names temporarily, no other sees. Times are UTC.

    Args:
        threads: How many work at once, if it is the first; one for each core where it is not said.
    """
    connection = shared_database(threads).cursor()
    reach_stores(connection)
    return connection


def reach(root: str) -> None:
    """Lets this process's DuckDB, from here on, read and write below a root, also in an object store."""
    if is_in_store(root):
        _stores.add(root)


def reach_stores(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets a DuckDB reach what this process's own does."""
    if _stores:
        from pipelines.io.storage.objects import SCHEME, file_system

        if not connection.filesystem_is_registered(SCHEME):
            connection.register_filesystem(file_system())


def spill_folder() -> str:
    """The path of a folder for what a DuckDB has no memory for. DuckDB makes it when it is needed, and deletes it.

    Nobody can have put anything there before, as a link to elsewhere: the name cannot be guessed.
    """
    return str(Path(tempfile.gettempdir(), f"duckdb-{uuid.uuid4().hex}"))


@cache
def shared_database(threads: int | None) -> duckdb.DuckDBPyConnection:
    """The process's DuckDB, in memory; its cursors work side by side."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": spill_folder(),
        "memory_limit": MEMORY_LIMIT,
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        **({"threads": str(threads)} if threads else {}),
    }
    database = duckdb.connect(config=settings)
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    return database
