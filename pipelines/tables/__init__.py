"""One module per table, one record in each. `TABLES` are all of them, in the order in which a batch writes them."""

from pipelines.tables.bronze_ship_events import BRONZE_SHIP_EVENTS
from pipelines.tables.bronze_ship_routes import BRONZE_SHIP_ROUTES
from pipelines.tables.gold_busiest_stops import GOLD_BUSIEST_STOPS
from pipelines.tables.gold_carrier_throughput import GOLD_CARRIER_THROUGHPUT
from pipelines.tables.gold_failed_delivery_alerts import GOLD_FAILED_DELIVERY_ALERTS
from pipelines.tables.gold_remaining_stops import GOLD_REMAINING_STOPS
from pipelines.tables.gold_stop_activity import GOLD_STOP_ACTIVITY
from pipelines.tables.ops_batches import OPS_BATCHES
from pipelines.tables.ops_expired_reports import OPS_EXPIRED_REPORTS
from pipelines.tables.ops_redriven_records import OPS_REDRIVEN_RECORDS
from pipelines.tables.record import Column, Table
from pipelines.tables.silver_quarantine import SILVER_QUARANTINE
from pipelines.tables.silver_ship_events import SILVER_SHIP_EVENTS
from pipelines.tables.silver_ship_routes import SILVER_SHIP_ROUTES

TABLES = (
    BRONZE_SHIP_EVENTS,
    BRONZE_SHIP_ROUTES,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    SILVER_QUARANTINE,
    GOLD_REMAINING_STOPS,
    GOLD_STOP_ACTIVITY,
    GOLD_BUSIEST_STOPS,
    GOLD_CARRIER_THROUGHPUT,
    GOLD_FAILED_DELIVERY_ALERTS,
    OPS_EXPIRED_REPORTS,
    OPS_REDRIVEN_RECORDS,
    OPS_BATCHES,
)

__all__ = [
    "BRONZE_SHIP_EVENTS",
    "BRONZE_SHIP_ROUTES",
    "GOLD_BUSIEST_STOPS",
    "GOLD_CARRIER_THROUGHPUT",
    "GOLD_FAILED_DELIVERY_ALERTS",
    "GOLD_REMAINING_STOPS",
    "GOLD_STOP_ACTIVITY",
    "OPS_BATCHES",
    "OPS_EXPIRED_REPORTS",
    "OPS_REDRIVEN_RECORDS",
    "SILVER_QUARANTINE",
    "SILVER_SHIP_EVENTS",
    "SILVER_SHIP_ROUTES",
    "TABLES",
    "Column",
    "Table",
]
