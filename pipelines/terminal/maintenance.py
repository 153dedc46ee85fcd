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


def compacted_page(compacted: "Compacted") -> Page:
    """A line per table, then what was left and why, and what stays."""
    drawn = Table("table")
    for title in ("files", "MiB", "in the folder", "MiB", "small ones joined", "vacuumed", "MiB", "checkpoint"):
        drawn.add_column(title, justify="right")
    for outcome in compacted.tables:
        drawn.add_row(
            outcome.table,
            *_change(outcome.before.files, outcome.after.files),
            *_change(outcome.before.folder, outcome.after.folder),
            f"{outcome.before.small_count:,}" if outcome.is_joined else "",
            *(_figures(outcome.vacuumed) if outcome.vacuumed.file_count else ("", "")),
            "new" if outcome.has_new_checkpoint else "",
        )
    yield drawn
    yield from (f"{outcome.table} was left: {outcome.left}." for outcome in compacted.tables if outcome.left)
    if compacted.replays:
        yield f"Files stay for {', '.join(compacted.replays)}, until `pts replay drop`."
    done = "Nothing was done" if compacted.dry_run else f"Done in {compacted.duration_seconds} s"
    waited = f"; no batch ran for {compacted.held_seconds} s" if compacted.held_seconds else ""
    yield f"{done}{waited}. Files younger than {compacted.retention_hours} h stay."


def expired_page(tables: Iterable["Expired"], *, dry_run: bool) -> Iterator[str]:
    """A line per table: how many of its rows expired."""
    verb = "would remove" if dry_run else "removed"
    for expired in tables:
        rows = f"{expired.row_count:,} {expired.rows}"
        yield f"{expired.table} {verb} {rows} before {expired.before:%Y-%m-%d %H:%M:%S} UTC"


def backfilled_page(tables: Iterable["Backfilled"]) -> Page:
    """A line per table: how many rows the interval has, and how many of them changed."""
    rows = (
        (backfilled.table, f"{backfilled.row_count:,}", f"{backfilled.added_count:,}", f"{backfilled.removed_count:,}")
        for backfilled in tables
    )
    yield table("table", "rows of the interval", "added", "removed", rows=rows)


def _change(before: "Extent", after: "Extent") -> list[str]:
    pairs = zip(_figures(before), _figures(after), strict=True)
    return [then if then == now else f"{then} → {now}" for then, now in pairs]


def _figures(extent: "Extent") -> tuple[str, str]:
    return f"{extent.file_count:,}", f"{extent.byte_count / MIB:,.1f}"
