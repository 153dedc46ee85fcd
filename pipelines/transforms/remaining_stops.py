"""How many stops does each package still have?"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import RECENCY
from pipelines.tables import GOLD_REMAINING_STOPS

SCAN_ORDER = ("occurred_at", *RECENCY)
ROUTE_ORDER = RECENCY
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

    The latest scan is the greatest (occurred_at, kafka_timestamp, kafka_partition, kafka_offset), the route in force
    the greatest (kafka_timestamp, kafka_partition, kafka_offset). Both are maxima by a total order, so the result
    depends neither on the order of rows nor on how they are cut into batches, and folding the same rows again changes
    nothing.

    Args:
        scans: New rows of silver.ship_events.
        routes: New rows of silver.ship_routes.
        current: The table as it stands.
    """
    touched = _greatest(scans, SCAN_ORDER, SCAN_COLUMNS, "scan").join(
        _greatest(routes, ROUTE_ORDER, ROUTE_COLUMNS, "route"), "tracking_number", "full_outer"
    )
    of_touched = current.join(F.broadcast(touched.select("tracking_number")), "tracking_number", "left_semi")
    before = F.struct(*(F.col(name) for name in GOLD_REMAINING_STOPS.column_names)).alias("before")
    both = touched.join(of_touched.select("tracking_number", before), "tracking_number", "left")
    scan_is_newer = _is_newer("scan", SCAN_ORDER, SCAN_COLUMNS)
    route_is_newer = _is_newer("route", ROUTE_ORDER, ROUTE_COLUMNS)
    changed = both.where(scan_is_newer | route_is_newer).select(
        "tracking_number",
        *(_pick(scan_is_newer, "scan", name) for name in SCAN_COLUMNS),
        *(_pick(route_is_newer, "route", name) for name in ROUTE_COLUMNS),
    )
    return changed.withColumn("number_of_remaining_stops", F.col("end_stop_id") - F.col("current_stop_id")).select(
        *GOLD_REMAINING_STOPS.column_names
    )


def _greatest(rows: DataFrame, order: tuple[str, ...], columns: dict[str, str], name: str) -> DataFrame:
    """tracking_number and a struct `name`: the columns of each package's greatest row."""
    row = F.struct(*(F.col(source).alias(target) for target, source in columns.items()))
    return rows.groupBy("tracking_number").agg(F.max_by(row, F.struct(*order)).alias(name))


def _is_newer(name: str, order: tuple[str, ...], columns: dict[str, str]) -> Column:
    """Whether the batch's row is greater than the one in the table; a row that is not there is the least of all."""
    target = {source: target for target, source in columns.items()}
    candidate, known = (F.struct(*(F.col(f"{side}.{target[source]}") for source in order)) for side in (name, "before"))
    offset = target["kafka_offset"]
    has_known = F.col(f"before.{offset}").isNotNull()
    return F.col(f"{name}.{offset}").isNotNull() & (~has_known | (candidate > known))


def _pick(is_newer: Column, name: str, column: str) -> Column:
    return F.when(is_newer, F.col(f"{name}.{column}")).otherwise(F.col(f"before.{column}")).alias(column)
