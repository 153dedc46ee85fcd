"""An object store as DuckDB reads and writes it."""

from typing import Any

from obstore.fsspec import FsspecStore

MOST_FILES = 10_000
"""Of so many it remembers what they are like."""


class DataFiles(FsspecStore):
    """Files that are written once and never changed. What one is like, DuckDB asks several times whenever it reads it,
    each a request to the store: the first answer is remembered.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._known: dict[str, dict[str, Any]] = {}

    async def _info(self, path: str, **options: Any) -> dict[str, Any]:
        if (known := self._known.get(path)) is not None:
            return known
        found = await super()._info(path, **options)
        if found["type"] == "file":
            if len(self._known) >= MOST_FILES:
                self._known.clear()
            self._known[path] = found
        return found
