"""What `pts compact` has done."""

from dataclasses import asdict, dataclass
from typing import Any

from pipelines.io.delta.files import Extent, State


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
        """What was compacted, as JSON carries it."""
        return asdict(self)
