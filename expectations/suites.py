"""All suites: what every table's record says, and what the table's own module adds."""

from expectations import (
    gold_busiest_stops,
    gold_carrier_throughput,
    gold_failed_delivery_alerts,
    gold_remaining_stops,
    gold_stop_activity,
    ops_batches,
    silver_quarantine,
    silver_ship_events,
    silver_ship_routes,
)
from expectations.baseline import one_row_per_key
from expectations.truth import Suite, Truth
from pipelines.tables import (
    EXPECTED,
    GOLD_BUSIEST_STOPS,
    GOLD_CARRIER_THROUGHPUT,
    GOLD_FAILED_DELIVERY_ALERTS,
    GOLD_REMAINING_STOPS,
    GOLD_STOP_ACTIVITY,
    OPS_BATCHES,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
)

HANDWRITTEN: dict[str, tuple[Truth, ...]] = {
    SILVER_SHIP_EVENTS.name: silver_ship_events.TRUTHS,
    SILVER_SHIP_ROUTES.name: silver_ship_routes.TRUTHS,
    SILVER_QUARANTINE.name: silver_quarantine.TRUTHS,
    GOLD_REMAINING_STOPS.name: gold_remaining_stops.TRUTHS,
    GOLD_STOP_ACTIVITY.name: gold_stop_activity.TRUTHS,
    GOLD_BUSIEST_STOPS.name: gold_busiest_stops.TRUTHS,
    GOLD_CARRIER_THROUGHPUT.name: gold_carrier_throughput.TRUTHS,
    GOLD_FAILED_DELIVERY_ALERTS.name: gold_failed_delivery_alerts.TRUTHS,
    OPS_BATCHES.name: ops_batches.TRUTHS,
}

SUITES = tuple(Suite(table, (one_row_per_key(table), *HANDWRITTEN.get(table.name, ()))) for table in EXPECTED)
