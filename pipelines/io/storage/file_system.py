"""An object store as DuckDB reads and writes it."""

import io
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import obstore
from obstore.fsspec import FsspecStore
from obstore.store import ObjectStore

Known = TypeVar("Known")

SUFFIX = ".parquet"
"""Of all files that DuckDB reads and writes here; what it asks for beside is their folder, which a store always has."""

MOST_FILES = 10_000
"""Of so many it is remembered what they are like."""

_known: dict[str, dict[str, Any]] = {}
"""What files are like, by bucket and name: they are written once and never changed."""


_made_up = set[str]()
"""Beginnings of names, with their buckets, that this process has just made up."""

SMALL_BYTES, MOST_SMALL = 512 << 10, 64
"""A file no larger is read at once, and so many are kept: by ranges, each reader asks for the end of its footer, for
the footer and for columns, one after the other.
"""

_small: dict[str, bytes] = {}
"""What is in them, by bucket and name."""

WRITTEN_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""DuckDB asks when a file was written in order to tell its versions apart. There is one."""


@contextmanager
def made_up(beginning: str) -> Iterator[None]:
    """Within the block, no file is there whose URI begins so, but those that are written meanwhile."""
    _made_up.add(_path(beginning))
    try:
        yield
    finally:
        _made_up.discard(_path(beginning))


def note_sizes(sizes: Mapping[str, int]) -> None:
    """What else says how large files are, by their URIs, need not be asked of the store."""
    for uri, size in sizes.items():
        path = _path(uri)
        if path not in _known:
            _remember(_known, MOST_FILES, path, {"name": path, "type": "file", "size": size})


def _remember(known: dict[str, Known], most: int, path: str, found: Known) -> None:
    if len(known) >= most:
        known.clear()
    known[path] = found


def _path(uri: str) -> str:
    return uri.partition("://")[2] or uri


class DataFiles(FsspecStore):
    """What a file is like, DuckDB asks several times whenever it reads it, each a request to the store: the first
    answer is remembered.
    """

    async def _info(self, path: str, **options: Any) -> dict[str, Any]:
        if (known := _known.get(_path(path))) is not None:
            return known
        if any(_path(path).startswith(beginning) for beginning in _made_up):
            raise FileNotFoundError(path)
        if not path.endswith(SUFFIX):
            return {"name": path, "type": "directory", "size": 0}
        found = await super()._info(path, **options)
        if found["type"] == "file":
            _remember(_known, MOST_FILES, _path(path), found)
        return found

    def modified(self, path: str) -> datetime:
        return WRITTEN_ONCE

    def _open(self, path: str, mode: str = "rb", *arguments: Any, **options: Any) -> Any:
        if mode != "rb":
            return super()._open(path, mode, *arguments, **options)
        bucket, name = self._split_path(path)
        store, size = self._construct_store(bucket), int(self.size(path))
        if size <= SMALL_BYTES:
            content = _whole(store, f"{bucket}/{name}", name)
            return _Ranges(lambda begin, length: content[begin : begin + length], size)
        return _Ranges(
            lambda begin, length: obstore.get_range(store, name, start=begin, length=length).to_bytes(), size
        )


def _whole(store: ObjectStore, path: str, name: str) -> bytes:
    if (found := _small.get(path)) is None:
        found = bytes(obstore.get(store, name).bytes())
        _remember(_small, MOST_SMALL, path, found)
    return found


class _Ranges(io.RawIOBase):
    """A file that several threads read at once, each by ranges: DuckDB's share a file, and each says where it reads
    before it reads. With one position for all, as obstore's own reader has, a thread reads where another one said.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read, self._size = read, size
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
        found = self._read(self.tell(), wanted)
        self.seek(len(found), io.SEEK_CUR)
        return found
