"""`gold.failed_delivery_alerts`: packages that could not be delivered again and again."""

from pipelines.contracts.rules import WINDOW_RETENTION
from pipelines.tables.record import Column, Expiry, Table

GOLD_FAILED_DELIVERY_ALERTS = Table(
    name="gold.failed_delivery_alerts",
    doc="Failed deliveries (status DF) that are at least the third of their package within an hour.",
    grain="one row per package and moment of such a failed delivery",
    key=("tracking_number", "occurred_at"),
    row_time="occurred_at",
    z_order_by=("occurred_at",),
    statistics=("tracking_number", "occurred_at"),
    constraints={
        "tracking_number_is_positive": "tracking_number > 0",
        "at_least_three": "failure_count >= 3",
        "first_is_within_the_hour": "first_failed_at > occurred_at - INTERVAL '1' HOUR AND "
        "first_failed_at <= occurred_at",
    },
    expiry=Expiry("occurred_at", WINDOW_RETENTION, rows="alerts"),
    columns=(
        Column("tracking_number", "BIGINT", "The package.", is_required=True),
        Column("occurred_at", "TIMESTAMP", "When the delivery failed (event time).", is_required=True),
        Column(
            "failure_count",
            "BIGINT",
            "Failed deliveries of the package in the hour that ends with this one: (occurred_at - 1 h, occurred_at].",
            is_required=True,
        ),
        Column("first_failed_at", "TIMESTAMP", "When the first of them happened.", is_required=True),
    ),
)
