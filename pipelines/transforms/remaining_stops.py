"""How many stops does each package still have?"""

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


def _rank(order: tuple[str, ...], columns: dict[str, str], of: str) -> str:
    """What a total order compares, as a row; of the report as it stands, by the names that its columns have there."""
    named = {source: target for target, source in columns.items()} if of == "known" else {}
    delivered = f"coalesce({of}.status_code = '{Status.DELIVERED}', false)"
    return f"({', '.join(delivered if name == 'is_delivered' else f'{of}.{named.get(name, name)}' for name in order)})"


SCAN_IS_NEW = (
    "scan.kafka_offset IS NOT NULL AND (known.event_kafka_offset IS NULL OR "
    f"{_rank(SCAN_ORDER, SCAN_COLUMNS, 'scan')} > {_rank(SCAN_ORDER, SCAN_COLUMNS, 'known')})"
)
ROUTE_IS_NEW = (
    "route.kafka_offset IS NOT NULL AND (known.route_kafka_offset IS NULL OR "
    f"{_rank(RECENCY, ROUTE_COLUMNS, 'route')} > {_rank(RECENCY, ROUTE_COLUMNS, 'known')})"
)

REMAINING_STOPS = f"""
    WITH scan AS (
        SELECT unnest(arg_max(new_scans, {_rank(SCAN_ORDER, SCAN_COLUMNS, "new_scans")})) FROM new_scans
        GROUP BY tracking_number
    ), route AS (
        SELECT unnest(arg_max(new_routes, {_rank(RECENCY, ROUTE_COLUMNS, "new_routes")})) FROM new_routes
        GROUP BY tracking_number
    ), told AS (
        SELECT tracking_number, {SCAN_IS_NEW} AS scan_is_new, {ROUTE_IS_NEW} AS route_is_new,
            {", ".join(f"CASE WHEN scan_is_new THEN scan.{source} ELSE known.{target} END AS {target}"
                       for target, source in SCAN_COLUMNS.items())},
            {", ".join(f"CASE WHEN route_is_new THEN route.{source} ELSE known.{target} END AS {target}"
                       for target, source in ROUTE_COLUMNS.items())}
        FROM scan FULL JOIN route USING (tracking_number) LEFT JOIN current AS known USING (tracking_number)
    )
    SELECT {", ".join(f"end_stop_id - current_stop_id AS {name}" if name == "number_of_remaining_stops" else name
                      for name in GOLD_REMAINING_STOPS.column_names)}
    FROM told WHERE scan_is_new OR route_is_new
"""  # fmt: skip
"""The reports that new scans and routes change: one whole row of gold.remaining_stops per such package.

The latest scan is the greatest by `SCAN_ORDER`, the route in force the greatest by `RECENCY`. Both are maxima by a
total order, so the result depends neither on the order of rows nor on how they are cut into batches, and folding the
same rows again changes nothing.

- `new_scans`: new rows of silver.ship_events.
- `new_routes`: new rows of silver.ship_routes.
- `current`: the table as it stands.
"""
