"""The files of a Delta table: fewer of them, and none that nobody needs. By delta-rs, without a JVM.

No row is changed: the commits made here say so (`dataChange` is false).
"""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.io.delta.delta_table import has_long_log, opened
from pipelines.io.delta.signature import signature
from pipelines.io.storage.entry import Entry
from pipelines.io.storage.files import files_at

TARGET_BYTES = 64 * 2**20
"""Files are joined up to about this size. Larger ones save nothing, and a batch that looks for few rows reads more."""

SMALL_BYTES = TARGET_BYTES // 4
MANY_SMALL = 8
"""From so many small files on, joining them pays."""

LOG_RETENTION = timedelta(days=30)
"""Delta's default. With any commit of compaction, delta-rs 1.6 deletes older ones, whatever it is asked."""

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


def join(path: str) -> None:
    """Joins small files, neighbours with neighbours, until few are left."""
    while state(path).has_many_small:
        done = opened(path).optimize.compact(
            target_size=TARGET_BYTES, max_concurrent_tasks=1, commit_properties=signature(path)
        )
        if done["numFilesRemoved"] <= done["numFilesAdded"]:
            break


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


def leaves_the_log(path: str, versions: Collection[int]) -> int | None:
    """The oldest of the versions, if a commit of `join` or `order` could delete it from the log; None if it stays.

    What goes are the commits before the newest checkpoint that is older than the log's retention.
    """
    oldest, limit = min(versions, default=None), time.time() - (LOG_RETENTION - LOG_MARGIN).total_seconds()
    if oldest is None:
        return None
    checkpoints = [entry for entry in files_at(f"{path}/_delta_log").entries() if ".checkpoint" in entry.name]
    is_behind = any(int(each.name[:20]) > oldest and each.modified_at < limit for each in checkpoints)
    return oldest if is_behind else None
