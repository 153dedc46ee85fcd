"""Two processes that write Airflow's SQLite database at once."""

import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from pipelines.processes.airflow import LOCAL_SETTINGS

READ, WRITE = text("SELECT count(*) FROM runs"), text("INSERT INTO runs VALUES (1)")


def made(path: Path) -> Engine:
    spec = importlib.util.spec_from_file_location("local_settings", LOCAL_SETTINGS / "airflow_local_settings.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    engine: Engine = module.create_metadata_engine(f"sqlite:///{path}?timeout=20", engine_args={}, connect_args={})
    return engine


def plain(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}?timeout=20")


def written_by_both(path: Path, engine_of: Callable[[Path], Engine]) -> int:
    """Rows, after a nested transaction that reads, then writes, and another writer who comes in between."""
    engine, other = engine_of(path), plain(path)

    def write() -> None:
        with other.begin() as connection:
            connection.execute(WRITE)

    with other.begin() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        connection.exec_driver_sql("CREATE TABLE runs (id INTEGER)")
    with engine.connect() as connection, connection.begin(), connection.begin_nested():
        connection.execute(READ)
        writer = threading.Thread(target=write)
        writer.start()
        writer.join(timeout=1)
        connection.execute(WRITE)
    writer.join()
    with other.connect() as connection:
        found: Any = connection.execute(READ).scalar()
    return int(found)


def test_writer_who_read_before_waits_for_others_and_they_for_him(tmp_path: Path) -> None:
    assert written_by_both(tmp_path / "airflow.db", made) == 2


def test_by_itself_sqlite_refuses_at_once(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="database is locked"):
        written_by_both(tmp_path / "airflow.db", plain)
