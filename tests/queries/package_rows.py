"""Rows of one package as delta-rs writes them: its scans, its routes, its report."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

NOON = datetime(2024, 5, 1, 12, 0, 0, 5, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
COORDINATES = {
    "kafka_topic": pa.string(),
    "kafka_partition": pa.int32(),
    "kafka_offset": pa.int64(),
    "kafka_timestamp": MOMENT,
}
PLACE = {name: pa.string() for name in ("country", "state", "city", "postal_code")}
SCANS = {
    "tracking_number": pa.int64(),
    "occurred_at": MOMENT,
    **{name: pa.string() for name in ("event_code", "status_code", "status_description", "carrier_code")},
    **PLACE,
    "current_stop_id": pa.int64(),
    **COORDINATES,
}
ROUTES = {
    "route_id": pa.int64(),
    "tracking_number": pa.int64(),
    "end_stop_id": pa.int64(),
    "is_withdrawn": pa.bool_(),
    **COORDINATES,
}
REPORTS = {
    "tracking_number": pa.int64(),
    "occurred_at": MOMENT,
    **{name: pa.int64() for name in ("number_of_remaining_stops", "current_stop_id", "end_stop_id", "route_id")},
    **{name: pa.string() for name in ("event_code", "status_code", "status_description", "carrier_code")},
    **PLACE,
    **{f"event_{name}": type_ for name, type_ in COORDINATES.items() if name != "kafka_topic"},
    **{f"route_{name}": type_ for name, type_ in COORDINATES.items() if name != "kafka_topic"},
}


def record(topic: str, offset: int, minute: int) -> dict[str, Any]:
    return {
        "tracking_number": 42,
        "kafka_topic": topic,
        "kafka_partition": 2,
        "kafka_offset": offset,
        "kafka_timestamp": NOON + timedelta(minutes=minute),
    }


def scan(stop: int, *, minute: int = 0, offset: int = 1234, **columns: Any) -> dict[str, Any]:
    where = {"city": "Lyon", "country": "FR", "event_code": "ARR", "status_code": "IT", "current_stop_id": stop}
    at = {"occurred_at": NOON + timedelta(minutes=minute)}
    return record("ship-events", offset, minute) | where | at | columns


def route(end: int | None, *, minute: int = 0, offset: int = 7) -> dict[str, Any]:
    route_id = None if end is None else 900
    return record("ship-routes", offset, minute) | {
        "route_id": route_id,
        "end_stop_id": end,
        "is_withdrawn": end is None,
    }


def report(latest: dict[str, Any] | None, last_route: dict[str, Any] | None) -> dict[str, Any]:
    """The row of gold.remaining_stops for a package's latest scan and last route record."""
    row: dict[str, Any] = {"tracking_number": 42}
    for kind, source in (("event", latest or {}), ("route", last_route or {})):
        row |= {f"{kind}_{name}" if name.startswith("kafka_") else name: value for name, value in source.items()}
    if latest and last_route and last_route["end_stop_id"] is not None:
        row["number_of_remaining_stops"] = last_route["end_stop_id"] - latest["current_stop_id"]
    return {name: row.get(name) for name in REPORTS}
