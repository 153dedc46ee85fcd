"""The latest report of every package, in a file, with how far the topic was read: both in one transaction.

The topic can always fill it again. So a file that is damaged, or of another layout, is no loss: it is made again.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.api.report import Entry

LAYOUT = 1
SCHEMA = f"""
    CREATE TABLE reports (
        tracking_number INTEGER PRIMARY KEY, partition INTEGER NOT NULL, position INTEGER NOT NULL, report BLOB
    );
    CREATE TABLE positions (partition INTEGER PRIMARY KEY, position INTEGER NOT NULL);
    CREATE TABLE topic (topic_id TEXT NOT NULL);
    PRAGMA user_version = {LAYOUT};
"""
"""`report` is null where it is unreadable; `position` is an offset, in `positions` the next one to be read."""

PUT = """
    INSERT INTO reports VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET partition = excluded.partition,
    position = excluded.position, report = excluded.report WHERE report IS NOT excluded.report RETURNING 1
"""
"""A report that says what is there already changes nothing, not even the position: it is a repeat."""


class Store:
    """What the topic says, for one writer and one reader, each in a thread of its own.

    Methods that write raise `sqlite3.Error`, and then nothing is written.
    """

    def __init__(self, file: Path) -> None:
        self._writer = _opened(file)
        self._reader = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._reader.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    def entry(self, number: int) -> Entry | None:
        """What the topic says of a package. For the reader."""
        rows = self._reader.execute(
            "SELECT partition, position, report FROM reports WHERE tracking_number = ?", (number,)
        ).fetchall()
        for partition, offset, report in rows:
            return Entry(partition, offset, "unreadable" if report is None else "report", report or b"")
        return None

    def count(self) -> int:
        """Packages that have a report. For the reader."""
        ((count,),) = self._reader.execute("SELECT count(*) FROM reports").fetchall()
        return int(count)

    def topic_id(self) -> str | None:
        """Of which topic it is; None before the first one. For the writer."""
        for (topic_id,) in self._writer.execute("SELECT topic_id FROM topic").fetchall():
            return str(topic_id)
        return None

    def positions(self) -> dict[int, int]:
        """By partition, the offset that is to be read next. For the writer."""
        return dict(self._writer.execute("SELECT partition, position FROM positions").fetchall())

    def begin(self, topic_id: str, positions: Mapping[int, int]) -> None:
        """Forgets all, to be filled from these offsets of a topic."""
        with self._transaction():
            for table in ("reports", "positions", "topic"):
                self._writer.execute(f"DELETE FROM {table}")
            self._writer.execute("INSERT INTO topic VALUES (?)", (topic_id,))
            self._writer.executemany("INSERT INTO positions VALUES (?, ?)", positions.items())

    def apply(self, entries: Mapping[int, Entry], positions: Mapping[int, int]) -> dict[int, Entry]:
        """Takes in what the topic says of packages up to positions; returns what is not a repeat of what was there."""
        changed = {}
        with self._transaction():
            for number, entry in entries.items():
                if entry.kind == "gone":
                    done = self._writer.execute("DELETE FROM reports WHERE tracking_number = ? RETURNING 1", (number,))
                else:
                    report = entry.report if entry.kind == "report" else None
                    done = self._writer.execute(PUT, (number, entry.partition, entry.offset, report))
                if done.fetchall():
                    changed[number] = entry
            self._writer.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", positions.items())
        return changed

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has rolled back already
                self._writer.execute("ROLLBACK")
            raise


def _opened(file: Path) -> sqlite3.Connection:
    try:
        return _with_layout(file)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # damaged
        _remove(file)
        return _with_layout(file)


def _with_layout(file: Path) -> sqlite3.Connection:
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))  # what SQLite puts beside it gets the same mode
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A machine that dies may lose the last transactions, each as a whole: they are read again.
        connection.execute("PRAGMA synchronous = NORMAL")
        ((layout,),) = connection.execute("PRAGMA user_version").fetchall()
        if layout == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        elif layout != LAYOUT:
            raise sqlite3.DatabaseError(f"layout {layout}")
        connection.execute("SELECT (SELECT topic_id FROM topic), (SELECT max(tracking_number) FROM reports)").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _remove(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
