"""One module per table, one record in each, named after it: `gold_stop_activity.py` has `GOLD_STOP_ACTIVITY`.

A module that is added is found by itself.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

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

LAYERS = ("bronze", "silver", "gold", "ops")
"""The schemas of tables, in the order in which rows come into them."""


def _records() -> Iterator[Table]:
    """The record of each module of this package that is named after a table."""
    for module in iter_modules(__path__):
        if module.name.partition("_")[0] in LAYERS and "_" in module.name:
            yield vars(import_module(f"{__name__}.{module.name}"))[module.name.upper()]


NOT_IN_THE_LEDGER = (OPS_QUALITY,)
"""Tables that no batch writes: the ledger does not know them, and the job neither creates nor checks them."""

TABLES = tuple(
    sorted(
        (table for table in _records() if table not in NOT_IN_THE_LEDGER),
        key=lambda table: (table == OPS_BATCHES, LAYERS.index(table.layer), table.name),
    )
)
"""The tables that batches write, layer by layer; the ledger, which is written last, is the last one."""

WINDOW_TABLES = tuple(table for table in TABLES if table.row_time)
"""Tables whose rows `pts backfill` computes again for an interval of event time."""

EXPECTED = tuple(table for table in TABLES if table.layer != "bronze")
"""Tables of which something is expected (`pts check`): bronze is what the log says, right or wrong."""

SCHEMAS = tuple(sorted({table.layer for table in TABLES}))
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
    "LAYERS",
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
    "WINDOW_TABLES",
    "Column",
    "Table",
]
