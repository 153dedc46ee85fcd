"""`gold.carrier_throughput`: what each carrier does in an hour."""

from pipelines.contracts.rules import WINDOW_RETENTION
from pipelines.tables.record import Column, Expiry, Table

GOLD_CARRIER_THROUGHPUT = Table(
    name="gold.carrier_throughput",
    doc="Scans of every carrier by status, per hour (UTC).",
    grain="one row per hour, carrier and status with at least one scan",
    key=("window_start", "carrier_code", "status_code"),
    measures=("scan_count",),
    row_time="window_start",
    z_order_by=("window_start",),
    statistics=("window_start",),
    constraints={
        "window_is_aligned": "date_trunc('hour', window_start) = window_start",
        "window_is_an_hour": "window_end = window_start + INTERVAL '1' HOUR",
        "has_a_scan": "scan_count > 0",
    },
    expiry=Expiry("window_end", WINDOW_RETENTION, rows="windows"),
    columns=(
        Column("window_start", "TIMESTAMP", "First moment of the hour (event time).", is_required=True),
        Column("window_end", "TIMESTAMP", "First moment after the hour.", is_required=True),
        Column("carrier_code", "STRING", "The carrier; a null is a value like any other."),
        Column("status_code", "STRING", "What the scans say; a null is a value like any other."),
        Column("scan_count", "BIGINT", "Scans of the carrier with that status within the hour.", is_required=True),
    ),
)
