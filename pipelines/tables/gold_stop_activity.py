"""`gold.stop_activity`: how busy every stop is."""

from pipelines.contracts.rules import WINDOW_RETENTION
from pipelines.tables.record import Column, Expiry, Table

GOLD_STOP_ACTIVITY = Table(
    name="gold.stop_activity",
    doc="Scans, deliveries and failed deliveries of every stop, in windows of 10 minutes of which one starts every 5. "
    "A scan is in two windows.",
    grain="one row per window and stop with at least one scan",
    key=("window_start", "country", "state", "city", "postal_code"),
    measures=("scan_count", "delivered_count", "failed_count"),
    row_time="window_start",
    z_order_by=("window_start",),
    statistics=("window_start",),
    constraints={
        "window_is_aligned": "date_trunc('minute', window_start) = window_start AND "
        "date_part('minute', window_start) % 5 = 0",
        "window_is_ten_minutes": "window_end = window_start + INTERVAL '10' MINUTE",
        "has_a_scan": "scan_count > 0",
        "a_scan_is_delivered_or_failed_or_neither": "delivered_count >= 0 AND failed_count >= 0 AND "
        "delivered_count + failed_count <= scan_count",
    },
    expiry=Expiry("window_end", WINDOW_RETENTION, rows="windows"),
    columns=(
        Column("window_start", "TIMESTAMP", "First moment of the window (event time).", is_required=True),
        Column("window_end", "TIMESTAMP", "First moment after the window.", is_required=True),
        Column("country", "STRING", "Country of the stop; a null is a value like any other."),
        Column("state", "STRING", "State or region of the stop."),
        Column("city", "STRING", "City of the stop."),
        Column("postal_code", "STRING", "Postal code of the stop."),
        Column("scan_count", "BIGINT", "Scans at the stop within the window.", is_required=True),
        Column("delivered_count", "BIGINT", "Those with status DL.", is_required=True),
        Column("failed_count", "BIGINT", "Those with status DF.", is_required=True),
    ),
)
