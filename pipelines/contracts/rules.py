"""The rules that give the tables their meaning. Code, never configuration: changing one means replaying the log."""

from datetime import timedelta
from enum import StrEnum

FUTURE_TOLERANCE = timedelta(minutes=10)
"""How far `occurredAt` may lie after the record's Kafka timestamp: more is `from_the_future`."""

LATENESS_LIMIT = timedelta(days=7)
"""How far `occurredAt` may lie before the record's Kafka timestamp: more is `too_late`."""

RECORD_TIMES_MS = (-62_135_596_800_000, 253_402_300_799_999)
"""First and last moment of the years 1 to 9999, in milliseconds since the Unix epoch. A Kafka timestamp that is not
between them, as one that was told in micro- or nanoseconds, is stored as the nearer of the two: no reader of tables
goes further (ADR 18)."""

SCAN_IDENTITY = ("tracking_number", "occurred_at", "event_code", "status_code", "current_stop_id")
"""Scans that agree in all of these (a null equals a null) are one scan; the one with the lowest offset is kept."""

RECENCY = ("kafka_timestamp", "kafka_partition", "kafka_offset")
"""Total order of records, greatest last: the route in force is the greatest."""

SCAN_ORDER = ("occurred_at", "current_stop_id", "is_delivered", *RECENCY)
"""Total order of a package's scans, greatest last; `is_delivered`: its status is DL. Carriers tell scans to the minute,
newest first: of one moment the later stop counts, there the delivery, and then the log's order (ADR 17)."""

STOP = ("country", "state", "city", "postal_code")
"""What tells one stop from another in the window tables; a null is a value like any other."""

SLIDING_WINDOW = timedelta(minutes=10)
SLIDE = timedelta(minutes=5)
"""Windows are half-open `[start, end)`, in event time, and aligned to the Unix epoch: of length `SLIDING_WINDOW`, one
starts every `SLIDE`."""

TUMBLING_WINDOW = timedelta(hours=1)

LEADERBOARD_SIZE = 10

ALERT_WINDOW = timedelta(hours=1)
"""A failed delivery at `t` is counted with those of its package in `(t - ALERT_WINDOW, t]`."""

ALERT_COUNT = 3
"""So many failed deliveries within the window are an alert."""

REPORT_RETENTION = timedelta(days=90)
"""A package delivered more than this before the newest accepted scan is removed by `pts expire`."""

WINDOW_RETENTION = timedelta(days=400)
"""Windows and alerts that ended more than this before the newest accepted scan are removed by `pts expire`: a year, and
time to compare it with the year before."""


class Reason(StrEnum):
    """Why a record is in quarantine: the first that holds, in this order."""

    EMPTY = "empty"  # no value, or one of zero bytes; a null route value is a withdrawal, not a reject
    NOT_UTF8 = "not_utf8"
    MALFORMED = "malformed"  # field count, quoting, JSON syntax
    MISSING_FIELD = "missing_field"
    BAD_TYPE = "bad_type"  # an integer, a time or a JSON member that does not parse or overflows
    OUT_OF_RANGE = "out_of_range"  # trackingNumber <= 0, a stop id < 0
    KEY_MISMATCH = "key_mismatch"  # the Kafka key is not the trackingNumber in decimal
    BAD_TIMESTAMP = "bad_timestamp"  # the Kafka timestamp is not between RECORD_TIMES_MS
    FROM_THE_FUTURE = "from_the_future"
    TOO_LATE = "too_late"


class Status(StrEnum):
    """Known status codes of a scan; any other is accepted as it is."""

    CREATED = "CR"
    PICKED_UP = "PU"
    IN_TRANSIT = "IT"
    OUT_FOR_DELIVERY = "OD"
    DELIVERED = "DL"
    DELIVERY_FAILED = "DF"
    EXCEPTION = "EX"
    RETURNING = "RT"
