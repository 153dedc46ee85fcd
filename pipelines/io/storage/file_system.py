"""An object store as DuckDB reads and writes it."""

import io
import threading
from typing import Any

import obstore
from obstore.fsspec import FsspecStore
from obstore.store import ObjectStore

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

    def _open(self, path: str, mode: str = "rb", *arguments: Any, **options: Any) -> Any:
        if mode != "rb":
            return super()._open(path, mode, *arguments, **options)
        bucket, name = self._split_path(path)
        return _Ranges(self._construct_store(bucket), name, int(self.size(path)))


class _Ranges(io.RawIOBase):
    """A file that several threads read at once, each by ranges: DuckDB's share a file, and each says where it reads
    before it reads. With one position for all, as obstore's own reader has, a thread reads where another one said.
    """

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self._size = store, name, size
        self._of_thread = threading.local()

    def tell(self) -> int:
        return int(getattr(self._of_thread, "position", 0))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        self._of_thread.position = origin + offset
        return self.tell()

    def read(self, length: int | None = -1) -> bytes:
        left = max(0, self._size - self.tell())
        wanted = left if length is None or length < 0 else min(length, left)
        if not wanted:
            return b""
        found = obstore.get_range(self._store, self._name, start=self.tell(), length=wanted).to_bytes()
        self.seek(len(found), io.SEEK_CUR)
        return found
