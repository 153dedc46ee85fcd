"""A bug in the flows of the window tables, for what corrects them to correct."""

from contextlib import AbstractContextManager

from pipelines.graph import FLOWS
from tests.planted import planted

WINDOW_TABLES = {
    "gold.stop_activity": "window_start",
    "gold.busiest_stops": "window_start",
    "gold.carrier_throughput": "window_start",
    "gold.failed_delivery_alerts": "occurred_at",
}
"""Each with the column by which a row belongs to an interval."""

COUNTS = ("scan_count", "failure_count")


def planted_bug() -> AbstractContextManager[None]:
    """Every count of a window is one too high."""
    flows = [flow for flow in FLOWS if flow.into.name in WINDOW_TABLES and flow.name != "busiest_stops"]
    return planted(
        {flow.name: {name: f"{name} + 1" for name in COUNTS if name in flow.into.column_names} for flow in flows}
    )
