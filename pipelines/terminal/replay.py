"""What `pts replay` and `pts quarantine redrive` plan, found and did."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from pipelines.terminal.page import Page, table

if TYPE_CHECKING:
    from pipelines.replay.compared import Compared
    from pipelines.replay.plan import Plan
    from pipelines.replay.redrive import Redriven
    from pipelines.state.replay_records import Promoted, Replay

MIB = 2**20


def plan_page(found: "Plan") -> Iterator[str]:
    """What is read from where, the rows that are made of it, and what that needs."""
    total = sum(found.records.values())
    yield f"Up to batch {found.fence} ({found.committed_at:%Y-%m-%d %H:%M:%S} UTC): {total:,} records"
    for source in found.sources:
        offsets = f"offsets {source.start_offset:,} to {source.end_offset:,}"
        yield f"{source.topic}/{source.partition}: {offsets} from {source.source}"
    yield from (f"{name}: {count:,} rows" for name, count in found.rows.items())
    free = "" if found.free_bytes is None else f", {found.free_bytes / MIB:,.0f} MiB free"
    yield f"Disk: {found.needed_bytes / MIB:,.0f} MiB needed{free}"
    yield f"Time: {'unknown' if found.estimated_seconds is None else f'about {found.estimated_seconds:,.0f} s'}"


def built_page(found: "Replay") -> Iterator[str]:
    """Where the replay is, and what comes next."""
    yield f"The replay {found.replay_id} is at batch {found.fence}. Next: pts replay compare {found.replay_id}"


def compared_page(found: "Compared") -> Page:
    """A line per table, and one for each column in which rows differ; then the verdict and its page."""
    drawn = Table("table")
    for title in ("live rows", "shadow rows", "missing", "extra", "changed", "undeclared"):
        drawn.add_column(title, justify="right")
    drawn.add_column("checksum")
    for each in found.tables:
        counts = each.live_rows, each.shadow_rows, each.missing, each.extra, each.changed, each.undeclared
        checksum = each.live_checksum if each.live_checksum == each.shadow_checksum else "differs"
        drawn.add_row(each.table, *(f"{count:,}" for count in counts), checksum, style="red" if each.undeclared else "")
        for column, count in each.columns.items():
            drawn.add_row(f"  {column}", "", "", "", "", f"{count:,}", "", "", style="dim")
    yield drawn
    yield " ".join(filter(None, (f"{found.verdict}.", found.page)))


def promoted_page(found: "Promoted") -> Iterator[str]:
    """Which tables are live, and for how long no batch ran."""
    yield (
        f"The tables of {found.replay_id} are live since batch {found.batch_id}; no batch ran for "
        f"{found.pause_seconds} s."
    )


def replays_page(found: Iterable["Replay"]) -> Page:
    """A line per replay of the lake."""
    rows = (
        (
            each.replay_id,
            f"{each.created_at:%Y-%m-%d %H:%M:%S}",
            str(each.fence),
            ("passed" if each.comparison.has_passed else "undeclared differences") if each.comparison else "not yet",
        )
        for each in found
    )
    yield table("replay", "created", "fence", "compared", rows=rows)


def redriven_page(found: "Redriven") -> Iterator[str]:
    """What the rules of today say of the records, and what became of the tables."""
    for topic, count in found.judged.items():
        yield f"{topic}: {count:,} records judged again, {found.accepted.get(topic, 0):,} accepted"
    for name, count in found.rejected.items():
        yield f"{count:,} are rejected as {name} now"
    if found.promoted:
        yield from promoted_page(found.promoted)
    else:
        yield "No table was changed."
