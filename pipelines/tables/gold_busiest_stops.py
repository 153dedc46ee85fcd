"""`gold.busiest_stops`: the leaderboard of every window."""

from pipelines.contracts.rules import WINDOW_RETENTION
from pipelines.tables.record import Column, Expiry, Table

GOLD_BUSIEST_STOPS = Table(
    name="gold.busiest_stops",
    doc="The 10 stops with the most scans in each window of gold.stop_activity. Equals are in ascending order of "
    "country, state, city and postal code (by code point), nulls first.",
    grain="one row per window and rank",
    key=("window_start", "rank"),
    row_time="window_start",
    z_order_by=("window_start",),
    statistics=("window_start",),
    constraints={
        "window_is_ten_minutes": "window_end = window_start + INTERVAL '10' MINUTE",
        "rank_is_on_the_board": "rank BETWEEN 1 AND 10",
        "has_a_scan": "scan_count > 0",
    },
    expiry=Expiry("window_end", WINDOW_RETENTION, rows="windows"),
    columns=(
        Column("window_start", "TIMESTAMP", "First moment of the window (event time).", is_required=True),
        Column("window_end", "TIMESTAMP", "First moment after the window.", is_required=True),
        Column("rank", "INT", "1 is the busiest stop; every stop has a rank of its own.", is_required=True),
        Column("country", "STRING", "Country of the stop; a null is a value like any other."),
        Column("state", "STRING", "State or region of the stop."),
        Column("city", "STRING", "City of the stop."),
        Column("postal_code", "STRING", "Postal code of the stop."),
        Column("scan_count", "BIGINT", "Scans at the stop within the window.", is_required=True),
    ),
)
