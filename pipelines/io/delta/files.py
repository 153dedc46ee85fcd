"""The files of a Delta table: fewer of them, and none that nobody needs. Without a JVM.

No row is changed: the commits made here say so (`dataChange` is false).
"""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.io.delta import data_files, delta_rs, duck
from pipelines.io.delta.delta_table import has_long_log, opened
from pipelines.io.delta.readable_lake import rows_of
from pipelines.io.delta.signature import signature
from pipelines.io.storage.entry import Entry
from pipelines.io.storage.files import files_at
from pipelines.tables import Table

TARGET_BYTES = 64 * 2**20
"""Files are joined up to about this size. Larger ones save nothing, and a batch that looks for few rows reads more."""

SMALL_BYTES = TARGET_BYTES // 4
MANY_SMALL = 8
"""From so many small files on, joining them pays."""

LOG_RETENTION = timedelta(days=30)
"""Delta's default. When it orders a table, delta-rs 1.6 deletes older commits, too, whatever it is asked."""

LOG_MARGIN = timedelta(days=1)


@dataclass(frozen=True)
class Extent:
    """Files, and their size together in bytes."""

    file_count: int
    byte_count: int


@dataclass(frozen=True)
class State:
    """A table's files.

    Attributes:
        version: The newest version.
        files: Those that it consists of.
        small_count: How many of these are small.
        folder: All data files that are there, also those of older versions and of writes that were cut off.
    """

    version: int
    files: Extent
    small_count: int
    folder: Extent

    @property
    def has_many_small(self) -> bool:
        """Whether joining them pays."""
        return self.small_count >= MANY_SMALL


def state(path: str) -> State:
    """How a table's files are now."""
    table = opened(path)
    sizes = pa.table(table.get_add_actions())["size_bytes"]
    small = pc.sum(pc.less(sizes, SMALL_BYTES)).as_py() or 0
    files = Extent(len(sizes), pc.sum(sizes).as_py() or 0)
    return State(
        table.version(),
        files,
        small,
        _extent(file for file in files_at(path).entries() if file.name.endswith(".parquet")),
    )


@dataclass(frozen=True)
class Crowd:
    """When it pays to join files.

    Attributes:
        small_bytes: Below this, a file is small.
        many: So many small ones pay.
        at_most: So many are joined, the oldest first; all, by default.
    """

    small_bytes: int
    many: int
    at_most: int | None = None


def join(path: str, table: Table, crowd: Crowd | None = None) -> None:
    """Joins small files of a table at a path, oldest first, with their rows in the order of the table's key; by default
    when that pays for its readers.
    """
    crowd = crowd or Crowd(SMALL_BYTES, MANY_SMALL)
    there = opened(path)
    files = pa.table(there.get_add_actions()).sort_by("modification_time")
    sizes = zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True)
    small = [(unquote(name), size) for name, size in sizes if size < crowd.small_bytes]
    if len(small) < crowd.many:
        return
    for names in _portions(small[: crowd.at_most]):
        with closing(duck.cursor()) as cursor:
            rows = rows_of(table, [f"{path}/{name}" for name in names])
            joined = data_files.write(cursor, rows, table, path, are_joined=True)
        there.update_incremental()
        delta_rs.replace_files(there, path, joined, names)


def _portions(files: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Names of files, given with their sizes, that become one: which is not small again, but for the last."""
    portion, byte_count = list[str](), 0
    for name, size in files:
        if byte_count + size > TARGET_BYTES - SMALL_BYTES:
            yield portion
            portion, byte_count = [], 0
        portion.append(name)
        byte_count += size
    if len(portion) > 1:
        yield portion


def order(path: str, columns: Sequence[str]) -> None:
    """Writes all rows again, ordered along the columns (Z-order). Who changes the table's rows meanwhile, fails."""
    opened(path).optimize.z_order(
        columns, target_size=TARGET_BYTES, max_concurrent_tasks=1, commit_properties=signature(path)
    )


def unneeded(path: str, retention: timedelta, versions: Collection[int]) -> Extent:
    """The files of the folder that `vacuum` removes."""
    return _extent(_unneeded(path, retention, versions))


def vacuum(path: str, retention: timedelta, versions: Collection[int]) -> Extent:
    """Removes files that no version of these and none of the retention time needs, also those of writes cut off;
    returns what it removed.

    Younger files stay, whoever made them: a write that is under way has not named its files yet. No commit tells of it:
    that of delta-rs fails beside a merge that takes a file out of the table.
    """
    found, files = _unneeded(path, retention, versions), files_at(path)
    for file in found:
        files.delete(file.name)
    return _extent(found)


def _unneeded(path: str, retention: timedelta, versions: Collection[int]) -> list[Entry]:
    hours, needed = int(retention / timedelta(hours=1)), sorted(versions)
    names = opened(path).vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True, keep_versions=needed)
    there = {entry.name: entry for entry in files_at(path).entries()}
    return [there[name] for name in names if name in there]


def _extent(files: Iterable[Entry]) -> Extent:
    sizes = [file.byte_count for file in files]
    return Extent(len(sizes), sum(sizes))


def write_checkpoint(path: str) -> bool:
    """Writes the newest version as a checkpoint of the log, if the last one is far behind; tells whether it did."""
    table = opened(path)
    if not has_long_log(path, table.version()):
        return False
    table.create_checkpoint()
    return True


def shorten_log(path: str) -> None:
    """Deletes commits that are older than the log's retention, and come before a checkpoint that is."""
    opened(path).cleanup_metadata()


def leaves_the_log(path: str, versions: Collection[int]) -> int | None:
    """The oldest of the versions, if `shorten_log` or `order` could delete it from the log; None if it stays.

    What goes are the commits before the newest checkpoint that is older than the log's retention.
    """
    oldest, limit = min(versions, default=None), time.time() - (LOG_RETENTION - LOG_MARGIN).total_seconds()
    if oldest is None:
        return None
    checkpoints = [entry for entry in files_at(f"{path}/_delta_log").entries() if ".checkpoint" in entry.name]
    is_behind = any(int(each.name[:20]) > oldest and each.modified_at < limit for each in checkpoints)
    return oldest if is_behind else None
