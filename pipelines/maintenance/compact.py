"""`pts compact`: small files of the tables joined, and files removed that nobody needs, while the live job goes on."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from pipelines.commands import Compact
from pipelines.errors import AnotherWriter
from pipelines.io.delta import files
from pipelines.io.delta.files import State
from pipelines.io.spark.failures import explained
from pipelines.live.resume import check_promotions
from pipelines.maintenance.compacted import Compacted, TableCompacted
from pipelines.maintenance.retention import needed
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.exclusion import deleting_files
from pipelines.state.handover import handed_over
from pipelines.tables import NOT_IN_THE_LEDGER, TABLES, Table

HELD_BYTES = 32 * 2**20
"""A table that the live job rewrites, too, is Z-ordered while the job waits: not one that is larger than this."""


def run(command: Compact, settings: Settings) -> Compacted:
    """Joins small files where many have come together, removes files older than the retention that no version needs
    which somebody may read (`pipelines/maintenance/retention.py`), and writes checkpoints of long logs, from which it
    deletes commits older than 30 days.

    To append-only tables the live job adds files and never comes back to them: they are joined while it runs. A table
    whose rows it merges is Z-ordered (`Table.z_order_by`) while it waits between two batches, once for all of them,
    and only if many small files have come together, which its merges seldom allow. If it does not hand over the lease
    in time, these are left to the next run. Run twice, it does nothing the second time; cut off anywhere, the next run
    goes on.

    Raises:
        NotFound: There are no tables yet.
        LakeMismatch: A promotion was cut off, or a table cannot be read.
        LakeUnavailable: The lake cannot be written.
        AnotherWriter: Another command takes files out of the tables, for more than two minutes.
    """
    with explained():
        return compact(settings.lake_root, timedelta(hours=settings.compact.retention_hours), dry_run=command.dry_run)


def compact(root: str, retention: timedelta, *, dry_run: bool = False) -> Compacted:
    """Compacts a lake, with any retention. One that the settings do not allow may take files from running readers."""
    began = time.monotonic()
    must_stay = needed(root)
    tables = [table for table in (*TABLES, *NOT_IN_THE_LEDGER) if table.name in must_stay.versions]
    before = {table.name: files.state(_path(root, table)) for table in tables}
    crowded = [table for table in tables if before[table.name].has_many_small]
    closed = _closed(root, tables, must_stay.versions)
    left = _too_large(crowded, before) | closed
    to_join = [table for table in crowded if table.is_append_only or table.name not in left]
    held_seconds, not_had = 0.0, dict[str, str]()
    if not dry_run:
        _join(root, (table for table in to_join if table.is_append_only))
        held_seconds, not_had = _put_in_order(root, [table for table in to_join if not table.is_append_only])
    found = []
    for table in tables:
        path, name = _path(root, table), table.name
        with part(f"Looking for unneeded files of {name}"), _deleting_files(root):
            vacuum = files.unneeded if dry_run else files.vacuum
            vacuumed = vacuum(path, retention, must_stay.versions[name])
            has_new_checkpoint = not dry_run and files.write_checkpoint(path)
            if not dry_run and name not in closed:
                files.shorten_log(path)
        found.append(
            TableCompacted(
                table=name,
                before=before[name],
                after=files.state(path),
                is_joined=table in to_join and name not in not_had,
                vacuumed=vacuumed,
                has_new_checkpoint=has_new_checkpoint,
                left=(left | not_had).get(name),
            )
        )
    return Compacted(
        dry_run=dry_run,
        duration_seconds=round(time.monotonic() - began, 2),
        held_seconds=round(held_seconds, 2),
        retention_hours=int(retention / timedelta(hours=1)),
        replays=must_stay.replays,
        tables=tuple(found),
    )


def _closed(root: str, tables: Iterable[Table], versions: Mapping[str, frozenset[int]]) -> dict[str, str]:
    """Tables whose logs stay as they are, and why: a version that somebody needs would go with the oldest commits."""
    oldest = {table.name: files.leaves_the_log(_path(root, table), versions[table.name]) for table in tables}
    return {
        name: f"version {version} is needed, and would be deleted from the log with others older than 30 days"
        for name, version in oldest.items()
        if version is not None
    }


def _too_large(tables: Iterable[Table], states: Mapping[str, State]) -> dict[str, str]:
    """Tables that the job would have to wait for, for too long."""
    return {
        table.name: f"the live job would wait while {states[table.name].files.byte_count >> 20:,} MiB are Z-ordered"
        for table in tables
        if not table.is_append_only and states[table.name].files.byte_count > HELD_BYTES
    }


def _join(root: str, tables: Iterable[Table]) -> None:
    for table in tables:
        with part(f"Joining files of {table.name}"), _deleting_files(root):
            files.join(_path(root, table), table)


def _put_in_order(root: str, tables: list[Table]) -> tuple[float, dict[str, str]]:
    """For how many seconds the lake was held; and the tables for which it was not to be had, with the reason."""
    if not tables:
        return 0.0, {}
    try:
        with handed_over(root):
            began = time.monotonic()
            check_promotions(root)
            for table in tables:
                with part(f"Putting {table.name} in order"):
                    files.order(_path(root, table), table.z_order_by)
            return time.monotonic() - began, {}
    except AnotherWriter:
        left = (
            "the live job came to no end of a batch in time, or another command had the lake; the next run tries again"
        )
        return 0.0, {table.name: left for table in tables}


@contextmanager
def _deleting_files(root: str) -> Iterator[None]:
    """A promotion that was cut off has put files into folders that no version names yet."""
    with deleting_files(root):
        check_promotions(root)
        yield


def _path(root: str, table: Table) -> str:
    return f"{root}/{table.folder}"
