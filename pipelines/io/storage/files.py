"""Small files of a lake by their names, and what is known of its large ones, wherever the lake is."""

import os
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from pipelines.io.storage.entry import Entry
from pipelines.lake_root import is_in_store
from pipelines.processes.atomic_file import write_whole


class Files(Protocol):
    """Files below a root. Names are relative to it, with slashes; folders below it are made where they are needed.

    Raises `FileNotFoundError` for a file that is not there, and `OSError`, whose `strerror` is one sentence without its
    full stop, for all that the storage refuses.

    Attributes:
        root: A folder's path, or a URI.
    """

    root: str

    def read(self, name: str) -> bytes:
        """What is in the file."""

    def write(self, name: str, text: str, *, is_lasting: bool = False) -> None:
        """Puts the text in the file's place at once: a reader finds the old text or the new one. With `is_lasting`, it
        outlives the machine from here on."""

    def exists(self, name: str) -> bool:
        """Whether there is the file."""

    def entries(self, folder: str = "") -> list[Entry]:
        """What is in the folder; nothing when there is none."""

    def make_folder(self, folder: str) -> None:
        """Makes the folder, for files that others write; a store needs none."""

    def delete(self, name: str) -> None:
        """Deletes the file, if it is there."""

    def delete_folder(self, folder: str) -> bool:
        """Deletes the folder with all that is in it; tells whether there was one."""

    def note_sizes(self, sizes: Iterable[tuple[str, int]]) -> None:
        """How large files are that are written once, by their names: a store need not be asked when they are read."""

    def made_up(self, beginning: str) -> AbstractContextManager[None]:
        """Within the block, no file is there whose name begins so, but those that are written meanwhile: a store need
        not be asked. The caller has made the name up, by a UUID."""

    def free_bytes(self) -> int | None:
        """How much there is room for; None in a store, which tells of no end."""

    def rename_to(self, root: str) -> None:
        """Gives the root another name, if it is there; in a store, a file at a time."""

    def take(self, source: str, name: str) -> None:
        """Makes a file that lies elsewhere in the same storage one of these, too, without reading it. It is one that
        nobody changes, and so is one that has this name already: the same."""


class FolderFiles:
    """`Files` in a folder of this machine."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, name: str) -> bytes:
        return self._path(name).read_bytes()

    def write(self, name: str, text: str, *, is_lasting: bool = False) -> None:
        path = self._path(name)
        if "/" in name:  # a root that has gone is not made again: it may be a disk that is not mounted
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, is_lasting=is_lasting)

    def exists(self, name: str) -> bool:
        return self._path(name).is_file()

    def entries(self, folder: str = "") -> list[Entry]:
        listed = []
        with suppress(FileNotFoundError), os.scandir(self._path(folder)) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another one has deleted it meanwhile
                    listed.append(_entry(entry))
        return listed

    def make_folder(self, folder: str) -> None:
        self._path(folder).mkdir(parents=True, exist_ok=True)

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> bool:
        path = self._path(folder)
        if is_there := path.is_dir():
            shutil.rmtree(path)
        return is_there

    def note_sizes(self, sizes: Iterable[tuple[str, int]]) -> None:
        pass

    def made_up(self, beginning: str) -> AbstractContextManager[None]:
        return nullcontext()

    def free_bytes(self) -> int | None:
        return shutil.disk_usage(self.root).free

    def rename_to(self, root: str) -> None:
        with suppress(FileNotFoundError):
            Path(self.root).rename(root)

    def take(self, source: str, name: str) -> None:
        with suppress(FileExistsError):
            os.link(source, self._path(name))

    def _path(self, name: str) -> Path:
        return Path(self.root, name)


def _entry(entry: "os.DirEntry[str]") -> Entry:
    if entry.is_dir():
        return Entry(entry.name, 0, 0, is_folder=True)
    status = entry.stat()
    return Entry(entry.name, status.st_size, status.st_mtime, is_folder=False)


def files_at(root: str) -> Files:
    """The files below a root."""
    if is_in_store(root):
        from pipelines.io.storage.objects import ObjectFiles

        return ObjectFiles(root)
    return FolderFiles(root)
