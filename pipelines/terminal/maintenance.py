"""What `pts compact`, `expire` and `backfill` did to the tables."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from pipelines.terminal.page import Page, table

if TYPE_CHECKING:
    from pipelines.io.delta.files import Extent
    from pipelines.maintenance.backfill import Backfilled
    from pipelines.maintenance.compacted import Compacted
    from pipelines.maintenance.expire import Expired

MIB = 2**20


def compacted_page(found: "Compacted") -> Page:
    """A line per table, then what was left and why, and what stays."""
    drawn = Table("table")
    for title in ("files", "MiB", "in the folder", "MiB", "small ones joined", "vacuumed", "MiB", "checkpoint"):
        drawn.add_column(title, justify="right")
    for each in found.tables:
        drawn.add_row(
            each.table,
            *_change(each.before.files, each.after.files),
            *_change(each.before.folder, each.after.folder),
            f"{each.before.small_count:,}" if each.is_joined else "",
            *(_figures(each.vacuumed) if each.vacuumed.file_count else ("", "")),
            "new" if each.has_new_checkpoint else "",
        )
    yield drawn
    yield from (f"{each.table} was left: {each.left}." for each in found.tables if each.left)
    if found.replays:
        yield f"Files stay for {', '.join(found.replays)}, until `pts replay drop`."
    done = "Nothing was done" if found.dry_run else f"Done in {found.duration_seconds} s"
    waited = f"; no batch ran for {found.held_seconds} s" if found.held_seconds else ""
    yield f"{done}{waited}. Files younger than {found.retention_hours} h stay."


def expired_page(found: Iterable["Expired"], *, dry_run: bool) -> Iterator[str]:
    """A line per table: how many of its rows expired."""
    verb = "would remove" if dry_run else "removed"
    for each in found:
        yield f"{each.table} {verb} {each.row_count:,} {each.rows} before {each.before:%Y-%m-%d %H:%M:%S} UTC"


def backfilled_page(found: Iterable["Backfilled"]) -> Page:
    """A line per table: how many rows the interval has, and how many of them changed."""
    rows = ((each.table, f"{each.row_count:,}", f"{each.added_count:,}", f"{each.removed_count:,}") for each in found)
    yield table("table", "rows of the interval", "added", "removed", rows=rows)


def _change(before: "Extent", after: "Extent") -> list[str]:
    pairs = zip(_figures(before), _figures(after), strict=True)
    return [then if then == now else f"{then} → {now}" for then, now in pairs]


def _figures(extent: "Extent") -> tuple[str, str]:
    return f"{extent.file_count:,}", f"{extent.byte_count / MIB:,.1f}"
