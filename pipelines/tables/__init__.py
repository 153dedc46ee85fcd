"""One module per table, one record in each. `TABLES` are those that batches write, in that order."""

from pipelines.tables.bronze_ship_events import BRONZE_SHIP_EVENTS
from pipelines.tables.bronze_ship_routes import BRONZE_SHIP_ROUTES
from pipelines.tables.gold_busiest_stops import GOLD_BUSIEST_STOPS
from pipelines.tables.gold_carrier_throughput import GOLD_CARRIER_THROUGHPUT
from pipelines.tables.gold_failed_delivery_alerts import GOLD_FAILED_DELIVERY_ALERTS
from pipelines.tables.gold_remaining_stops import GOLD_REMAINING_STOPS
from pipelines.tables.gold_stop_activity import GOLD_STOP_ACTIVITY
from pipelines.tables.ops_batches import OPS_BATCHES
from pipelines.tables.ops_expired_reports import OPS_EXPIRED_REPORTS
from pipelines.tables.ops_quality import OPS_QUALITY
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

EXPECTED = tuple(table for table in TABLES if not table.name.startswith("bronze."))
"""Tables of which something is expected (`pts check`): bronze is what the log says, right or wrong."""

NOT_IN_THE_LEDGER = (OPS_QUALITY,)
"""Tables that no batch writes: the ledger does not know them, and the job neither creates nor checks them."""

SCHEMAS = tuple(sorted({table.name.partition(".")[0] for table in TABLES}))
"""Folders of the lake's root in which tables lie."""

__all__ = [
    "BRONZE_SHIP_EVENTS",
    "BRONZE_SHIP_ROUTES",
    "EXPECTED",
    "GOLD_BUSIEST_STOPS",
    "GOLD_CARRIER_THROUGHPUT",
    "GOLD_FAILED_DELIVERY_ALERTS",
    "GOLD_REMAINING_STOPS",
    "GOLD_STOP_ACTIVITY",
    "NOT_IN_THE_LEDGER",
    "OPS_BATCHES",
    "OPS_EXPIRED_REPORTS",
    "OPS_QUALITY",
    "OPS_REDRIVEN_RECORDS",
    "SCHEMAS",
    "SILVER_QUARANTINE",
    "SILVER_SHIP_EVENTS",
    "SILVER_SHIP_ROUTES",
    "TABLES",
    "Column",
    "Table",
]
