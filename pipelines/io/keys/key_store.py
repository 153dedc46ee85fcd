"""The keys by which envelopes open: random, one for each package and each day, in one SQLite file of mode 0600.

Erasing a key overwrites it (`secure_delete`) and leaves a tombstone, so that the package never gets another one. The
journal is a rollback journal, gone with each commit: a write-ahead log would keep old pages.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from pipelines.contracts.envelope import KEY_BYTES, new_key
from pipelines.errors import KeysUnavailable

LAYOUT = 1
SCHEMA = f"""
    CREATE TABLE keys (
        name TEXT PRIMARY KEY, key BLOB, erased_at TEXT,
        CHECK ((key IS NULL) = (erased_at IS NOT NULL)), CHECK (key IS NULL OR length(key) = {KEY_BYTES})
    );
    PRAGMA user_version = {LAYOUT};
"""
WAIT_SECONDS = 30.0
"""For another process that mints or erases."""

STRANGERS = 0o007


class KeyStore:
    """The keys, for one process.

    Each method raises `KeysUnavailable` when the file cannot be read or written.

    Args:
        file: Where they are. It must be there: a new one opens nothing that was sealed before, and knows of nothing
            that was erased (`create`).
        is_read_only: Whether keys are only looked up, as by who may read the file and not write it; by any thread.

    Raises `KeysUnavailable` when the file is missing, is none, or is every user's.
    """

    def __init__(self, file: Path, *, is_read_only: bool = False) -> None:
        self._file = file
        with self._explained():
            if file.stat().st_mode & STRANGERS:
                raise KeysUnavailable(f"{file} has keys that every user of this machine may use: `chmod o= {file}`.")
            self._connection = sqlite3.connect(
                f"file:{quote(str(file))}?mode={'ro' if is_read_only else 'rw'}",
                WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=not is_read_only,
                uri=True,
            )
            ((layout,),) = self._connection.execute("PRAGMA user_version").fetchall()
            if layout != LAYOUT:
                raise KeysUnavailable(f"{file} is no key store of this version of pts (layout {layout}).")
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("PRAGMA synchronous = FULL")

    @classmethod
    def create(cls, file: Path) -> None:
        """Makes an empty store, as a whole or not at all. One that is there stays as it is."""
        made = file.with_name(f"{file.name}.new")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            made.unlink(missing_ok=True)
            os.close(os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            connection = sqlite3.connect(made, isolation_level=None)
            connection.executescript(f"PRAGMA journal_mode = DELETE; BEGIN; {SCHEMA} COMMIT;")
            connection.close()
            with suppress(FileExistsError):
                os.link(made, file)
            made.unlink()
        except (OSError, sqlite3.Error) as error:
            raise KeysUnavailable(f"The key store {file} cannot be made: {error}.") from error

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def minting(self) -> Iterator["Minting"]:
        """Keys for sealing. Those that are minted in the block are on the disk when it ends."""
        with self._explained(), self._transaction():
            yield Minting(self._connection)

    def key_of(self, tracking_number: int) -> bytes | None:
        """The key of a package; None where there is none, or none any more."""
        return self._key(of_package(tracking_number))

    def keys_of(self, tracking_numbers: Collection[int]) -> dict[int, bytes | None]:
        """By package its key, None where it is erased; nothing of those that have neither. In one look at the file."""
        names = {of_package(number): number for number in tracking_numbers}
        sql = "SELECT name, key FROM keys WHERE name IN (SELECT value FROM json_each(?))"
        with self._explained():
            return {names[name]: key for name, key in self._connection.execute(sql, (json.dumps(list(names)),))}

    def key_of_day(self, day: str) -> bytes | None:
        """The key of a day; None where there is none, or none any more."""
        return self._key(of_day(day))

    def is_erased(self, tracking_number: int) -> bool:
        """Whether the package was erased."""
        with self._explained():
            sql = "SELECT 1 FROM keys WHERE name = ? AND key IS NULL"
            return bool(self._connection.execute(sql, (of_package(tracking_number),)).fetchall())

    def erase(self, tracking_number: int) -> bool:
        """Destroys the key of a package, for good. Returns whether there was one."""
        had_one = self.key_of(tracking_number) is not None
        with self._explained(), self._transaction():
            self._connection.execute(
                "INSERT INTO keys VALUES (?, NULL, ?) ON CONFLICT DO UPDATE SET key = NULL, "
                "erased_at = coalesce(erased_at, excluded.erased_at)",
                (of_package(tracking_number), _now()),
            )
        return had_one

    def erase_days_before(self, days: int) -> int:
        """Destroys the keys of days that are longer ago than so many; returns how many there were."""
        first = (datetime.now(UTC).date() - timedelta(days=days)).isoformat()
        with self._explained(), self._transaction():
            erased = self._connection.execute(
                "UPDATE keys SET key = NULL, erased_at = ? WHERE name GLOB 'day:*' AND name < ? AND key IS NOT NULL",
                (_now(), of_day(first)),
            )
            return erased.rowcount

    def _key(self, name: str) -> bytes | None:
        with self._explained():
            rows = self._connection.execute("SELECT key FROM keys WHERE name = ?", (name,)).fetchall()
        return rows[0][0] if rows else None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise KeysUnavailable(
                f"There is no key store {self._file}: bring it back from where it was, or set PTS_SEAL__KEYS. `pts "
                "seal` makes one where nothing was sealed yet."
            ) from error
        except (OSError, sqlite3.Error) as error:
            raise KeysUnavailable(f"The key store {self._file} cannot be used: {error}.") from error


class Minting:
    """Gives keys within a transaction of the store (`contracts/seal.py: Keys`)."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_package(self, tracking_number: int) -> bytes:
        """The key of a package, minted where there was none; of one that is erased, a key that nobody keeps."""
        return self._minted(of_package(tracking_number))

    def of_today(self) -> tuple[str, bytes]:
        """The day in UTC, and its key."""
        day: date = datetime.now(UTC).date()
        return day.isoformat(), self._minted(of_day(day.isoformat()))

    def _minted(self, name: str) -> bytes:
        self._connection.execute("INSERT INTO keys VALUES (?, ?, NULL) ON CONFLICT DO NOTHING", (name, new_key()))
        ((key,),) = self._connection.execute("SELECT key FROM keys WHERE name = ?", (name,)).fetchall()
        return key or new_key()


def of_package(tracking_number: int) -> str:
    return f"package:{tracking_number}"


def of_day(day: str) -> str:
    return f"day:{day}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
