"""What `pts compact` has done, for programs and for people."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table as DrawnTable

from pipelines.io.delta.files import Extent, State

MIB = 2**20


@dataclass(frozen=True)
class TableCompacted:
    """What became of one table's files; with `dry_run`, what would.

    Attributes:
        table: Its name.
        before: Its files before.
        after: Its files after; the live job may have added some meanwhile.
        is_joined: Whether its small files were joined.
        vacuumed: The files that were removed.
        has_new_checkpoint: Whether its log got a checkpoint.
        left: Why less was done than would pay; None if nothing was left.
    """

    table: str
    before: State
    after: State
    is_joined: bool
    vacuumed: Extent
    has_new_checkpoint: bool
    left: str | None


@dataclass(frozen=True)
class Compacted:
    """What became of all tables.

    Attributes:
        dry_run: Whether nothing was done.
        duration_seconds: How long it took.
        held_seconds: How much of that the lake was held: no batch ran meanwhile.
        retention_hours: Younger files stayed.
        replays: Older files stayed for these, too.
        tables: In the order in which a batch writes them.
    """

    dry_run: bool
    duration_seconds: float
    held_seconds: float
    retention_hours: int
    replays: tuple[str, ...]
    tables: tuple[TableCompacted, ...]

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    def table(self) -> DrawnTable:
        """A line per table."""
        drawn = DrawnTable("table")
        for title in ("files", "MiB", "in the folder", "MiB", "small ones joined", "vacuumed", "MiB", "checkpoint"):
            drawn.add_column(title, justify="right")
        for each in self.tables:
            drawn.add_row(
                each.table,
                *_change(each.before.files, each.after.files),
                *_change(each.before.folder, each.after.folder),
                f"{each.before.small_count:,}" if each.is_joined else "",
                *(_figures(each.vacuumed) if each.vacuumed.file_count else ("", "")),
                "new" if each.has_new_checkpoint else "",
            )
        return drawn

    def lines(self) -> Iterator[str]:
        """What the table does not say."""
        yield from (f"{each.table} was left: {each.left}." for each in self.tables if each.left)
        if self.replays:
            yield f"Files stay for {', '.join(self.replays)}, until `pts replay drop`."
        done = "Nothing was done" if self.dry_run else f"Done in {self.duration_seconds} s"
        waited = f"; no batch ran for {self.held_seconds} s" if self.held_seconds else ""
        yield f"{done}{waited}. Files younger than {self.retention_hours} h stay."


def _change(before: Extent, after: Extent) -> list[str]:
    pairs = zip(_figures(before), _figures(after), strict=True)
    return [then if then == now else f"{then} → {now}" for then, now in pairs]


def _figures(extent: Extent) -> tuple[str, str]:
    return f"{extent.file_count:,}", f"{extent.byte_count / MIB:,.1f}"
