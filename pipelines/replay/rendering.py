"""A comparison on a terminal."""

from rich.table import Table

from pipelines.replay.compared import Compared


def compared_table(found: Compared) -> Table:
    """A line per table, and one for each column in which rows differ."""
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
    return drawn
