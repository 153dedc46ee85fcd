"""How many stops does each package still have?"""

from functools import cache
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import RECENCY, SCAN_ORDER, Status
from pipelines.tables import GOLD_REMAINING_STOPS

SCAN_COLUMNS = {
    **{name: name for name in (
        "occurred_at", "current_stop_id", "event_code", "status_code", "status_description", "carrier_code",
        "country", "state", "city", "postal_code",
    )},
    **{f"event_{name}": name for name in RECENCY},
}  # fmt: skip
"""Column of the report -> column of silver.ship_events, for what the latest scan says."""

ROUTE_COLUMNS = {"end_stop_id": "end_stop_id", "route_id": "route_id", **{f"route_{name}": name for name in RECENCY}}
"""Column of the report -> column of silver.ship_routes, for what the route in force says."""


def remaining_stops(scans: DataFrame, routes: DataFrame, current: DataFrame) -> DataFrame:
    """The reports that new scans and routes change: one whole row of gold.remaining_stops per such package.

    The latest scan is the greatest by `SCAN_ORDER`, the route in force the greatest by `RECENCY`. Both are maxima by a
    total order, so the result depends neither on the order of rows nor on how they are cut into batches, and folding
    the same rows again changes nothing.

    Args:
        scans: New rows of silver.ship_events.
        routes: New rows of silver.ship_routes.
        current: The table as it stands.
    """
    told = _columns()
    new = scans.select(*told.of_scans).unionByName(routes.select(*told.of_routes), allowMissingColumns=True)
    known = current.join(new.select("tracking_number"), "tracking_number", "left_semi").select(*told.of_current)
    greatest = new.unionByName(known).groupBy("tracking_number").agg(*told.greatest)
    return greatest.where(told.is_changed).select(*told.reported)


class Columns(NamedTuple):
    """What the steps select. Made once: each of the hundred is some calls into the JVM."""

    of_scans: tuple[Column, ...]
    of_routes: tuple[Column, ...]
    of_current: tuple[Column, ...]
    greatest: tuple[Column, ...]
    is_changed: Column
    reported: tuple[Column, ...]


@cache
def _columns() -> Columns:
    package = F.col("tracking_number")
    stops = F.col("route.end_stop_id") - F.col("scan.current_stop_id")
    is_delivered = F.coalesce(F.col("status_code") == Status.DELIVERED.value, F.lit(False)).alias("is_delivered")
    reported = {
        "tracking_number": package,
        **{name: F.col(f"scan.{name}") for name in SCAN_COLUMNS},
        **{name: F.col(f"route.{name}") for name in ROUTE_COLUMNS},
        "number_of_remaining_stops": stops,
    }
    return Columns(
        of_scans=(package, _told(SCAN_COLUMNS, "scan", is_delivered)),
        of_routes=(package, _told(ROUTE_COLUMNS, "route")),
        of_current=(package, _known(SCAN_COLUMNS, "scan", is_delivered), _known(ROUTE_COLUMNS, "route")),
        greatest=(_greatest("scan", SCAN_ORDER, SCAN_COLUMNS), _greatest("route", RECENCY, ROUTE_COLUMNS)),
        is_changed=F.col("scan.is_new") | F.col("route.is_new"),
        reported=tuple(reported[name].alias(name) for name in GOLD_REMAINING_STOPS.column_names),
    )


def _told(columns: dict[str, str], name: str, *ranks: Column) -> Column:
    """A struct `name`: what a new row says of the package's report."""
    said = (F.col(source).alias(target) for target, source in columns.items())
    return F.struct(*said, *ranks, F.lit(True).alias("is_new")).alias(name)


def _known(columns: dict[str, str], name: str, *ranks: Column) -> Column:
    """The same of the report as it stands; null when it has no scan, or no route."""
    said = F.struct(*(F.col(target) for target in columns), *ranks, F.lit(False).alias("is_new"))
    return F.when(F.col(_reported("kafka_offset", columns)).isNotNull(), said).alias(name)


def _greatest(name: str, order: tuple[str, ...], columns: dict[str, str]) -> Column:
    """Of equals the known one: what it says is in the table already."""
    rank = F.struct(*(F.col(f"{name}.{_reported(source, columns)}") for source in order), ~F.col(f"{name}.is_new"))
    return F.max_by(name, F.when(F.col(name).isNotNull(), rank)).alias(name)


def _reported(source: str, columns: dict[str, str]) -> str:
    """The report's column that is made from a column of silver; a rank is called the same in both."""
    return next((target for target, column in columns.items() if column == source), source)
