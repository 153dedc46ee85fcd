"""A bug in the flows of the window tables, for what corrects them to correct."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.graph import FLOWS, Flow

WINDOW_TABLES = {
    "gold.stop_activity": "window_start",
    "gold.busiest_stops": "window_start",
    "gold.carrier_throughput": "window_start",
    "gold.failed_delivery_alerts": "occurred_at",
}
"""Each with the column by which a row belongs to an interval."""

COUNTS = ("scan_count", "failure_count")


@contextmanager
def planted_bug() -> Iterator[None]:
    """Every count of a window is one too high."""
    flows = [flow for flow in FLOWS if flow.into.name in WINDOW_TABLES and flow.name != "busiest_stops"]
    right = {flow.name: flow.by for flow in flows}
    for flow in flows:
        object.__setattr__(flow, "by", one_more(flow))
    try:
        yield
    finally:
        for flow in flows:
            object.__setattr__(flow, "by", right[flow.name])


def one_more(flow: Flow) -> Callable[..., DataFrame]:
    right = flow.by

    def wrong(*frames: DataFrame) -> DataFrame:
        rows = right(*frames)
        return rows.withColumns({name: F.col(name) + 1 for name in COUNTS if name in rows.columns})

    return wrong
