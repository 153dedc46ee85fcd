"""Small files on whatever storage the lake is on, through Hadoop's file systems."""

import re
from typing import TYPE_CHECKING, Any

from pipelines.errors import LakeUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MISREAD_PATH = re.compile(r"[][*?^|\\]|%[0-9A-Fa-f]{2}")
"""What DuckDB expands in a local path, and what delta-rs 1.6 panics at or decodes (it takes `a%20b` for `a b`)."""


class Storage:
    """Small text files by URI: read, listed, written, deleted, and folders of them renamed."""

    def __init__(self, spark: "SparkSession") -> None:
        self._jvm: Any = spark._jvm
        self._configuration = spark._jsc.hadoopConfiguration()

    def _open(self, path: str) -> tuple[Any, Any]:
        location = self._jvm.org.apache.hadoop.fs.Path(path)
        return location.getFileSystem(self._configuration), location

    def exists(self, path: str) -> bool:
        files, location = self._open(path)
        return bool(files.exists(location))

    def names(self, folder: str) -> list[str]:
        """Names in a folder; none when there is no such folder."""
        files, location = self._open(folder)
        return [status.getPath().getName() for status in files.listStatus(location)] if files.exists(location) else []

    def text(self, path: str) -> str:
        files, location = self._open(path)
        stream = files.open(location)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Makes the file, and the folders that it is in. Cut off, it may be there with less in it."""
        files, location = self._open(path)
        stream = files.create(location, False)
        try:
            stream.write(bytearray(text, "utf-8"))
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Deletes a file, if it is there. Raises `LakeUnavailable` when the storage refuses."""
        files, location = self._open(path)
        if not files.delete(location, False) and files.exists(location):
            raise LakeUnavailable(f"{path} cannot be deleted. Check the permissions of the lake.")

    def rename(self, folder: str, name: str) -> None:
        """Gives a folder another name beside it. Raises `LakeUnavailable` when the storage refuses."""
        files, location = self._open(folder)
        if not files.rename(location, self._jvm.org.apache.hadoop.fs.Path(location.getParent(), name)):
            raise LakeUnavailable(f"{folder} cannot be renamed to {name}. Check the permissions of the lake.")
