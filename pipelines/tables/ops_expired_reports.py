"""`ops.expired_reports`: the reports that `pts expire` has taken out of `gold.remaining_stops`."""

from dataclasses import replace

from pipelines.tables.gold_remaining_stops import GOLD_REMAINING_STOPS

OPS_EXPIRED_REPORTS = replace(
    GOLD_REMAINING_STOPS,
    name="ops.expired_reports",
    doc="Reports that `pts expire` has taken out of gold.remaining_stops, as they were then. When a package is heard "
    "of again, its report goes on from here. If a package is in gold.remaining_stops, too, that row counts.",
    grain="one row per package that ever expired",
    expiry=None,
)
