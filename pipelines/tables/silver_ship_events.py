"""`silver.ship_events`: the scans."""

from pipelines.tables.record import RECORD_STATISTICS, Column, Table, kafka_coordinates

SILVER_SHIP_EVENTS = Table(
    name="silver.ship_events",
    doc="Accepted scans, each once: of records that tell the same scan, the one with the lowest offset.",
    grain="one row per distinct accepted scan",
    key=("tracking_number", "occurred_at", "event_code", "status_code", "current_stop_id"),
    statistics=("tracking_number", "occurred_at", *RECORD_STATISTICS),
    constraints={
        "tracking_number_is_positive": "tracking_number > 0",
        "current_stop_id_is_not_negative": "current_stop_id >= 0",
    },
    is_append_only=True,
    columns=(
        Column("tracking_number", "BIGINT", "The package.", is_required=True),
        Column("occurred_at", "TIMESTAMP", "When the package was scanned (event time).", is_required=True),
        Column("event_code", "STRING", "The carrier's code for the kind of scan.", is_required=True),
        Column(
            "status_code",
            "STRING",
            "What the scan says of the package: CR PU IT OD DL DF EX RT, or a code unknown to us.",
        ),
        Column("status_description", "STRING", "The carrier's words for it."),
        Column("carrier_code", "STRING", "The carrier."),
        Column("country", "STRING", "Country of the stop."),
        Column("state", "STRING", "State or region of the stop."),
        Column("city", "STRING", "City of the stop."),
        Column("postal_code", "STRING", "Postal code of the stop."),
        Column(
            "current_stop_id",
            "BIGINT",
            "Number of the stop along the route at which the package was scanned.",
            is_required=True,
        ),
        *kafka_coordinates(),
    ),
)
