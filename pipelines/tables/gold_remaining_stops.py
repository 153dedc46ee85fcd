"""`gold.remaining_stops`: the report of every package."""

from pipelines.contracts.rules import REPORT_RETENTION
from pipelines.tables.record import Column, Expiry, Table

GOLD_REMAINING_STOPS = Table(
    name="gold.remaining_stops",
    doc="For every package: its latest scan, its route in force, and how many stops remain.",
    grain="one row per package seen in either topic",
    key=("tracking_number",),
    z_order_by=("tracking_number",),
    statistics=("tracking_number",),
    constraints={
        "tracking_number_is_positive": "tracking_number > 0",
        "stops_add_up": "number_of_remaining_stops <=> (end_stop_id - current_stop_id)",
        "scan_or_route_is_known": "event_kafka_offset IS NOT NULL OR route_kafka_offset IS NOT NULL",
    },
    expiry=Expiry(
        "occurred_at", REPORT_RETENTION, rows="reports of delivered packages", condition="status_code = 'DL'"
    ),
    columns=(
        Column("tracking_number", "BIGINT", "The package.", is_required=True),
        Column(
            "occurred_at",
            "TIMESTAMP",
            "When its latest scan happened; null, as all of the scan's columns, before the first scan.",
        ),
        Column("number_of_remaining_stops", "BIGINT", "end_stop_id - current_stop_id; null until both are known."),
        Column("current_stop_id", "BIGINT", "Stop of the latest scan."),
        Column(
            "end_stop_id", "BIGINT", "Last stop of the route in force; null without a route, or when it was withdrawn."
        ),
        Column("route_id", "BIGINT", "The route in force; null without one."),
        Column("event_code", "STRING", "Event code of the latest scan."),
        Column("status_code", "STRING", "Status code of the latest scan."),
        Column("status_description", "STRING", "Status description of the latest scan."),
        Column("carrier_code", "STRING", "Carrier of the latest scan."),
        Column("country", "STRING", "Country of the latest scan."),
        Column("state", "STRING", "State or region of the latest scan."),
        Column("city", "STRING", "City of the latest scan."),
        Column("postal_code", "STRING", "Postal code of the latest scan."),
        Column("event_kafka_partition", "INT", "Partition of the latest scan in ship-events."),
        Column("event_kafka_offset", "BIGINT", "Offset of the latest scan in its partition."),
        Column("event_kafka_timestamp", "TIMESTAMP", "Kafka timestamp of the latest scan."),
        Column("route_kafka_partition", "INT", "Partition of the last route record (a withdrawal too) in ship-routes."),
        Column("route_kafka_offset", "BIGINT", "Offset of the last route record in its partition."),
        Column("route_kafka_timestamp", "TIMESTAMP", "Kafka timestamp of the last route record."),
    ),
)
