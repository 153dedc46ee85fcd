"""The verdict on a record: the silver row that it makes, or the first reason to refuse it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle.decode import decode, integer, names_offset, text, timestamp
from tests.oracle.json_object import JsonValue
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError

Row = dict[str, Any]

SECOND = 1_000_000
FUTURE_TOLERANCE = 10 * 60 * SECOND
LATENESS_LIMIT = 7 * 24 * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    column: str
    read: Callable[[JsonValue], int | str]
    is_required: bool = False


_EVENT_FIELDS = (
    _Field("trackingNumber", "tracking_number", integer, is_required=True),
    _Field("occurredAt", "occurred_at", timestamp, is_required=True),
    _Field("eventCode", "event_code", text, is_required=True),
    _Field("statusCode", "status_code", text),
    _Field("statusDescription", "status_description", text),
    _Field("carrierCode", "carrier_code", text),
    _Field("country", "country", text),
    _Field("state", "state", text),
    _Field("city", "city", text),
    _Field("postalCode", "postal_code", text),
    _Field("currentStopId", "current_stop_id", integer, is_required=True),
)
_ROUTE_FIELDS = (
    _Field("routeId", "route_id", integer, is_required=True),
    _Field("trackingNumber", "tracking_number", integer, is_required=True),
    _Field("endStopId", "end_stop_id", integer, is_required=True),
)
_EVENT_NAMES = tuple(field.name for field in _EVENT_FIELDS)
_ROUTE_NAMES = tuple(field.name for field in _ROUTE_FIELDS)


def judge(record: LogRecord, wire_format: str, needs_offset: bool = False) -> Row:
    """The row of silver.ship_events or silver.ship_routes that the record makes, duplicates not yet considered.

    Args:
        record: The record.
        wire_format: `csv` or `json`.
        needs_offset: Whether a time that names no offset is none.

    Raises:
        RejectedError: with the first reason that holds.
    """
    if record.topic == "ship-events":
        return _scan(record, wire_format, needs_offset)
    if record.topic == "ship-routes":
        return _withdrawal(record) if record.value is None else _route(record, wire_format)
    raise ValueError(f"the pipeline does not read topic {record.topic}")


def coordinates(record: LogRecord) -> Row:
    """The kafka_* columns."""
    return {
        "kafka_topic": record.topic,
        "kafka_partition": record.partition,
        "kafka_offset": record.offset,
        "kafka_timestamp": record.timestamp,
    }


def _scan(record: LogRecord, wire_format: str, needs_offset: bool) -> Row:
    members = decode(record.value or b"", wire_format, _EVENT_NAMES)
    row = _read(members, _EVENT_FIELDS)
    if needs_offset and not names_offset(members["occurredAt"]):
        raise RejectedError("bad_type")
    _check_range(row, "current_stop_id")
    _check_key(record, row)
    _check_timestamp(record)
    if row["occurred_at"] > record.timestamp + FUTURE_TOLERANCE:
        raise RejectedError("from_the_future")
    if row["occurred_at"] < record.timestamp - LATENESS_LIMIT:
        raise RejectedError("too_late")
    return {**row, **coordinates(record)}


def _route(record: LogRecord, wire_format: str) -> Row:
    row = _read(decode(record.value or b"", wire_format, _ROUTE_NAMES), _ROUTE_FIELDS)
    _check_range(row, "end_stop_id")
    _check_key(record, row)
    _check_timestamp(record)
    return {**row, "is_withdrawn": False, **coordinates(record)}


def _withdrawal(record: LogRecord) -> Row:
    """The key alone says which package: it is read like an integer of a value, and its spelling does not matter."""
    try:
        tracking_number = integer((record.key or b"").decode("ascii"))
    except (UnicodeDecodeError, RejectedError):
        raise RejectedError("key_mismatch") from None
    if tracking_number <= 0:
        raise RejectedError("key_mismatch")
    _check_timestamp(record)
    row = {"route_id": None, "tracking_number": tracking_number, "end_stop_id": None, "is_withdrawn": True}
    return {**row, **coordinates(record)}


def _read(members: dict[str, JsonValue], fields: tuple[_Field, ...]) -> Row:
    for field in fields:
        if field.is_required and members.get(field.name) is None:
            raise RejectedError("missing_field")
    row: Row = {}
    for field in fields:
        member = members.get(field.name)
        row[field.column] = None if member is None else field.read(member)
    return row


def _check_range(row: Row, stop_column: str) -> None:
    if row["tracking_number"] <= 0 or row[stop_column] < 0:
        raise RejectedError("out_of_range")


def _check_key(record: LogRecord, row: Row) -> None:
    if record.key != str(row["tracking_number"]).encode():
        raise RejectedError("key_mismatch")


def _check_timestamp(record: LogRecord) -> None:
    if not -62_135_596_800_000 < record.timestamp_ms < 253_402_300_799_999:
        raise RejectedError("bad_timestamp")
