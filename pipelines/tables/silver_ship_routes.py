"""`silver.ship_routes`: the routes and their withdrawals."""

from pipelines.tables.record import RECORD_KEY, RECORD_STATISTICS, Column, Table, kafka_coordinates

SILVER_SHIP_ROUTES = Table(
    name="silver.ship_routes",
    doc="Accepted route records. The route in force of a package is its greatest (kafka_timestamp, kafka_partition, "
    "kafka_offset).",
    grain="one row per route version",
    key=RECORD_KEY,
    statistics=("tracking_number", *RECORD_STATISTICS),
    constraints={
        "tracking_number_is_positive": "tracking_number > 0",
        "end_stop_id_is_not_negative": "end_stop_id IS NULL OR end_stop_id >= 0",
        "only_a_withdrawal_has_no_route": "is_withdrawn = (route_id IS NULL) AND is_withdrawn = (end_stop_id IS NULL)",
    },
    is_append_only=True,
    columns=(
        Column("route_id", "BIGINT", "The route; null for a withdrawal."),
        Column("tracking_number", "BIGINT", "The package.", is_required=True),
        Column("end_stop_id", "BIGINT", "Number of the last stop of the route; null for a withdrawal."),
        Column(
            "is_withdrawn",
            "BOOLEAN",
            "Whether the record withdraws the package's route (a null value).",
            is_required=True,
        ),
        *kafka_coordinates(),
    ),
)
