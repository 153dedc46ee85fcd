"""Files in an object store that knows conditional writes (S3), by `obstore`.

DuckDB reads and writes its large files through this module, too.
"""

import errno
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store, from_url

from pipelines.errors import LakeUnavailable, first_sentence
from pipelines.io.storage import access
from pipelines.io.storage.entry import Entry

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from obstore import UpdateVersion

SCHEME: Final = "s3"
NO_BUCKET = "<Code>NoSuchBucket</Code>"


class StoreUnavailable(LakeUnavailable, OSError):
    """The store refuses, or does not answer. `strerror` says why."""

    def __init__(self, why: str) -> None:
        OSError.__init__(self, errno.EIO, why)

    def __str__(self) -> str:
        return f"The lake cannot be reached: {self.strerror}. Check PTS_LAKE and PTS_STORAGE__…; nothing is lost."


@dataclass(frozen=True)
class Version:
    """An object's content at a moment, and the tag by which the store knows that it is this one."""

    content: bytes
    tag: str


class ObjectFiles:
    """`Files` in a bucket. What is written is lasting once the store has answered."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._store = _store(root)

    def read(self, name: str) -> bytes:
        with _said():
            return bytes(obstore.get(self._store, name).bytes())

    def write(self, name: str, text: str, *, is_lasting: bool = False) -> None:
        with _said():
            obstore.put(self._store, name, text.encode())

    def exists(self, name: str) -> bool:
        with _said():
            try:
                obstore.head(self._store, name)
            except FileNotFoundError:
                return False
            return True

    def entries(self, folder: str = "") -> list[Entry]:
        with _said():
            found = obstore.list_with_delimiter(self._store, folder or None)
        folders = [Entry(_last(path), 0, 0, is_folder=True) for path in found["common_prefixes"]]
        return folders + [
            Entry(_last(each["path"]), each["size"], each["last_modified"].timestamp(), is_folder=False)
            for each in found["objects"]
        ]

    def make_folder(self, folder: str) -> None:
        pass

    def delete(self, name: str) -> None:
        with _said(), suppress(FileNotFoundError):
            obstore.delete(self._store, name)

    def delete_folder(self, folder: str) -> bool:
        was_there = False
        with _said():
            for portion in obstore.list(self._store, f"{folder}/" if folder else None):
                was_there = True
                obstore.delete(self._store, [each["path"] for each in portion])
        return was_there

    def note_sizes(self, sizes: Iterable[tuple[str, int]]) -> None:
        from pipelines.io.storage.file_system import note_sizes

        note_sizes({f"{self.root}/{name}": size for name, size in sizes})

    def made_up(self, beginning: str) -> AbstractContextManager[None]:
        from pipelines.io.storage.file_system import made_up

        return made_up(f"{self.root}/{beginning}")

    def free_bytes(self) -> int | None:
        return None

    def rename_to(self, root: str) -> None:
        bucket, prefix = _parts(root)
        with _said():
            names = [each["path"] for portion in obstore.list(self._store) for each in portion]
            for name in names:
                obstore.copy(_store(f"{SCHEME}://{bucket}"), _parts(f"{self.root}/{name}")[1], f"{prefix}/{name}")
            # The identity goes first: a checkpoint that lost it says so, one that lost offsets would begin again.
            obstore.delete(self._store, sorted(names, key=lambda name: name != "metadata"))

    def take(self, source: str, name: str) -> None:
        bucket, from_key = _parts(source)
        with _said():
            obstore.copy(_store(f"{SCHEME}://{bucket}"), from_key, _parts(f"{self.root}/{name}")[1])

    def version(self, name: str) -> Version | None:
        """What is in the object now; None when there is none."""
        with _said():
            try:
                found = obstore.get(self._store, name)
            except FileNotFoundError:
                return None
            return Version(bytes(found.bytes()), str(found.meta["e_tag"]))

    def check_conditions(self) -> None:
        """Raises `OSError` for a store that overwrites what it was asked to create, or to replace if it was as before:
        of two writers, both would believe that theirs is there.
        """
        name = f"_conditions/{uuid.uuid4().hex}"
        first = self.put(name, b"first", None)
        is_kept_to = first and not self.put(name, b"second", None) and not self.put(name, b"third", '"another"')
        self.delete(name)
        if not is_kept_to:
            raise StoreUnavailable("the store does not keep to conditional writes (If-None-Match and If-Match)")

    def put(self, name: str, content: bytes, instead_of: str | None) -> str | None:
        """Puts the content in place of that with a tag, or makes the object where None is given, and returns its tag;
        None when something else is there. No two contents may be the same: where the store's answer was lost, what is
        there tells.
        """
        with _said():
            try:
                mode: UpdateVersion | Literal["create"] = {"e_tag": instead_of} if instead_of else "create"
                return str(obstore.put(self._store, name, content, mode=mode)["e_tag"])
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                there = self.version(name)
        return there.tag if there and there.content == content else None


def file_system() -> "AbstractFileSystem":
    """The store as DuckDB reads and writes it."""
    from pipelines.io.storage.file_system import DataFiles

    return DataFiles(SCHEME, **access.of_obstore())


def _store(root: str) -> S3Store:
    return _store_as(root, tuple(access.options().items()))


@cache
def _store_as(root: str, _options: tuple[tuple[str, str], ...]) -> S3Store:
    store = from_url(root, **access.of_obstore())
    assert isinstance(store, S3Store)
    return store


def _parts(uri: str) -> tuple[str, str]:
    """The bucket, and the object's name in it."""
    bucket, _, name = uri.removeprefix(f"{SCHEME}://").partition("/")
    return bucket, name


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@contextmanager
def _said() -> Iterator[None]:
    """Raises what the store refuses as an `OSError`, in its own words."""
    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise StoreUnavailable(first_sentence(error)) from error
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from error
    except BaseError as error:
        raise StoreUnavailable(first_sentence(error)) from error
