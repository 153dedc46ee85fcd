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


def plan_page(plan: "Plan") -> Iterator[str]:
    """What is read from where, the rows that are made of it, and what that needs."""
    total = sum(plan.records.values())
    yield f"Up to batch {plan.fence} ({plan.committed_at:%Y-%m-%d %H:%M:%S} UTC): {total:,} records"
    for source in plan.sources:
        offsets = f"offsets {source.start_offset:,} to {source.end_offset:,}"
        yield f"{source.topic}/{source.partition}: {offsets} from {source.source}"
    yield from (f"{name}: {count:,} rows" for name, count in plan.rows.items())
    free = "" if plan.free_bytes is None else f", {plan.free_bytes / MIB:,.0f} MiB free"
    yield f"Disk: {plan.needed_bytes / MIB:,.0f} MiB needed{free}"
    yield f"Time: {'unknown' if plan.estimated_seconds is None else f'about {plan.estimated_seconds:,.0f} s'}"


def built_page(replay: "Replay") -> Iterator[str]:
    """Where the replay is, and what comes next."""
    yield f"The replay {replay.replay_id} is at batch {replay.fence}. Next: pts replay compare {replay.replay_id}"


def compared_page(compared: "Compared") -> Page:
    """A line per table, and one for each column in which rows differ; then the verdict and its page."""
    drawn = Table("table")
    for title in ("live rows", "shadow rows", "missing", "extra", "changed", "undeclared"):
        drawn.add_column(title, justify="right")
    drawn.add_column("checksum")
    for counted in compared.tables:
        counts = (
            counted.live_rows,
            counted.shadow_rows,
            counted.missing,
            counted.extra,
            counted.changed,
            counted.undeclared,
        )
        checksum = counted.live_checksum if counted.live_checksum == counted.shadow_checksum else "differs"
        drawn.add_row(
            counted.table, *(f"{count:,}" for count in counts), checksum, style="red" if counted.undeclared else ""
        )
        for column, count in counted.columns.items():
            drawn.add_row(f"  {column}", "", "", "", "", f"{count:,}", "", "", style="dim")
    yield drawn
    yield " ".join(filter(None, (f"{compared.verdict}.", compared.page)))


def promoted_page(promoted: "Promoted") -> Iterator[str]:
    """Which tables are live, and for how long no batch ran."""
    yield (
        f"The tables of {promoted.replay_id} are live since batch {promoted.batch_id}; no batch ran for "
        f"{promoted.pause_seconds} s."
    )


def replays_page(replays: Iterable["Replay"]) -> Page:
    """A line per replay of the lake."""
    rows = (
        (
            replay.replay_id,
            f"{replay.created_at:%Y-%m-%d %H:%M:%S}",
            str(replay.fence),
            ("passed" if replay.comparison.has_passed else "undeclared differences")
            if replay.comparison
            else "not yet",
        )
        for replay in replays
    )
    yield table("replay", "created", "as of", "compared", rows=rows)


def redriven_page(redriven: "Redriven") -> Iterator[str]:
    """What the rules of today say of the records, and what became of the tables."""
    for topic, count in redriven.judged.items():
        yield f"{topic}: {count:,} records judged again, {redriven.accepted.get(topic, 0):,} accepted"
    for name, count in redriven.rejected.items():
        yield f"{count:,} are rejected as {name} now"
    if redriven.promoted:
        yield from promoted_page(redriven.promoted)
    else:
        yield "No table was changed."
