"""Two processes that write Airflow's SQLite database at once; a service of Airflow's that is asked to end."""

import importlib.util
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from pipelines.processes.airflow import LOCAL_SETTINGS

READ, WRITE = text("SELECT count(*) FROM runs"), text("INSERT INTO runs VALUES (1)")


def local_settings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("local_settings", LOCAL_SETTINGS / "airflow_local_settings.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(path: Path) -> Engine:
    engine: Engine = local_settings().create_metadata_engine(
        f"sqlite:///{path}?timeout=20", engine_args={}, connect_args={}
    )
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
        writer.join(timeout=1 if engine_of is made else 20)  # it waits for the nested one; else for nobody
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


def test_end_that_a_callback_of_the_garbage_collector_ignored_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def end(*_: object) -> NoReturn:
        sys.exit(0)

    monkeypatch.setattr(sys, "unraisablehook", local_settings().ask_again)
    before = signal.signal(signal.SIGTERM, end)
    held = {1}
    reference = weakref.ref(held, lambda _: signal.raise_signal(signal.SIGTERM))
    try:
        del held
        assert reference() is None, "it was ignored"
        with pytest.raises(SystemExit):
            time.sleep(20)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "Exception ignored" in capfd.readouterr().err
