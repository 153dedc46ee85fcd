"""What does the topic package-reports say of a changed report?"""

MEMBERS = {
    "trackingNumber": "tracking_number",
    "occurredAt": "occurred_at",
    "numberOfRemainingStops": "number_of_remaining_stops",
    "currentStopId": "current_stop_id",
    "endStopId": "end_stop_id",
    "statusCode": "status_code",
    "eventKafkaPartition": "event_kafka_partition",
    "eventKafkaOffset": "event_kafka_offset",
    "eventKafkaTimestamp": "event_kafka_timestamp",
    "routeKafkaPartition": "route_kafka_partition",
    "routeKafkaOffset": "route_kafka_offset",
    "routeKafkaTimestamp": "route_kafka_timestamp",
}
"""Member of the JSON object -> column of gold.remaining_stops."""

LONGEST_CODE = 1_000
"""Characters of a `statusCode` that a message tells; the table has all of them. A text may be as long as the broker
lets a record be, but no producer sends more than 1 MB unless told otherwise: each start would end at such a scan.
"""


def _member(column: str) -> str:
    if column == "status_code":
        return f"left(status_code, {LONGEST_CODE})"
    is_time = column.endswith(("_at", "_timestamp"))
    return f"strftime({column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')" if is_time else column


PACKAGE_REPORT_MESSAGES = f"""
    SELECT tracking_number::VARCHAR AS key,
        json_object({", ".join(f"'{name}', {_member(column)}" for name, column in MEMBERS.items())})::VARCHAR AS value
    FROM reports
"""
"""One Kafka record (key, value) per changed report: the tracking number, and a JSON object, null members included.

Times are UTC, `yyyy-MM-ddTHH:mm:ss.ffffffZ`. The coordinates make a repeat recognisable: the same scan and route, the
same message. A `statusCode` is cut off at `LONGEST_CODE`.

- `reports`: rows of gold.remaining_stops.
"""
