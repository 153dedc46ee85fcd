"""One module per table, one record in each. `TABLES` are all of them, in the order in which a batch writes them."""

from pipelines.tables.bronze_ship_events import BRONZE_SHIP_EVENTS
from pipelines.tables.bronze_ship_routes import BRONZE_SHIP_ROUTES
from pipelines.tables.gold_remaining_stops import GOLD_REMAINING_STOPS
from pipelines.tables.ops_batches import OPS_BATCHES
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
    OPS_BATCHES,
)

__all__ = [
    "BRONZE_SHIP_EVENTS",
    "BRONZE_SHIP_ROUTES",
    "GOLD_REMAINING_STOPS",
    "OPS_BATCHES",
    "SILVER_QUARANTINE",
    "SILVER_SHIP_EVENTS",
    "SILVER_SHIP_ROUTES",
    "TABLES",
    "Column",
    "Table",
]
