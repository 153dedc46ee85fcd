"""A bug in the flows of the window tables, for what corrects them to correct."""

from collections.abc import Iterable

from pipelines import tables
from pipelines.graph import Flow
from tests.planted import planted

WINDOW_TABLES = {table.name: str(table.row_time) for table in tables.WINDOW_TABLES}
"""Each with the column by which a row belongs to an interval."""

COUNTS = ("scan_count", "failure_count")


def with_bug(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """The flows, where every count of a window is one too high."""
    flows = tuple(flows)
    of_windows = [flow for flow in flows if flow.into.name in WINDOW_TABLES and flow.name != "busiest_stops"]
    return planted(
        flows,
        {flow.name: {name: f"{name} + 1" for name in COUNTS if name in flow.into.column_names} for flow in of_windows},
    )
