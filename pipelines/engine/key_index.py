"""An index of tables' files in memory: which of them may hold a row of the same key?

A file never changes. So a process that has opened one knows the hashes of its keys for good; it opens the file again
only where one of them is asked for. Hashes choose files, nothing else: what is in them, the query finds.
"""

from collections.abc import Sequence

import numpy as np
from duckdb import DuckDBPyConnection as Cursor
from numpy.typing import NDArray

from pipelines.io.delta.data_files import TYPES
from pipelines.io.delta.readable_lake import rows_of
from pipelines.tables import Table

MOST_KEYS = 8 << 20
"""64 MiB of hashes; the files of others are opened each time."""

FEW_KEYS = 10_000
"""Where more is asked for, to open all files costs less than to hash it."""

Hashes = NDArray[np.uint64]


class KeyIndex:
    """The index of all tables that a process looks into.

    Args:
        most_keys: How many hashes it holds at most.
    """

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._hashes: dict[str, Hashes] = {}

    def files_for(self, cursor: Cursor, rows: str, table: Table, files: Sequence[str]) -> list[str]:
        """Those of a table's files, and at most a few more, that hold a row with the key of one of a query's rows."""
        if not files:
            return []
        ((count,),) = cursor.execute(f"SELECT count(*) FROM ({rows})").fetchall()
        if count > FEW_KEYS:
            return list(files)
        self._learn(cursor, table, files)
        asked = _hashes(cursor, rows, table)
        return [file for file in files if file not in self._hashes or _have_one_in_common(self._hashes[file], asked)]

    def _learn(self, cursor: Cursor, table: Table, files: Sequence[str]) -> None:
        """Opens files that it does not know yet, as long as there is room; it forgets others for them."""
        unknown = [file for file in files if file not in self._hashes]
        if unknown and self._room() <= 0:
            self._hashes = {file: self._hashes[file] for file in files if file in self._hashes}
        room = self._room()
        for file in unknown:
            if room <= 0:
                break
            self._hashes[file] = _hashes(cursor, rows_of(table, [file]), table)
            room -= len(self._hashes[file])

    def _room(self) -> int:
        return self._most_keys - sum(map(len, self._hashes.values()))


def _hashes(cursor: Cursor, rows: str, table: Table) -> Hashes:
    """Of the rows' keys, sorted. Of other types, the same values would have others."""
    key = ", ".join(f"{column.name}::{TYPES[column.type]}" for column in table.columns if column.name in table.key)
    found: Hashes = cursor.execute(f"SELECT hash({key}) AS hash FROM ({rows})").fetchnumpy()["hash"]
    return np.sort(found)


def _have_one_in_common(there: Hashes, asked: Hashes) -> bool:
    """Whether two sorted arrays have."""
    places = np.searchsorted(there, asked)
    is_within = places < len(there)
    return bool((there[places[is_within]] == asked[is_within]).any())
