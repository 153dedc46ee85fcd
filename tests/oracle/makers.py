"""Tiny makers of log records, every part of which can be named and replaced."""

from datetime import UTC, date, datetime, time, timedelta

from tests.oracle.records import LogRecord

_DAY = "2026-03-01"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(clock: str, day: str = _DAY) -> int:
    """Microseconds since the epoch of a time of a day, such as `10:05` or `10:05:00.000001`, in UTC."""
    return (_moment(clock, day) - _EPOCH) // timedelta(microseconds=1)


def _moment(clock: str, day: str) -> datetime:
    return datetime.combine(date.fromisoformat(day), time.fromisoformat(clock), tzinfo=UTC)


def scan(
    package: int = 42,
    clock: str = "10:00",
    *,
    offset: int,
    stop: int = 3,
    code: str = "SCAN",
    status: str = "IT",
    carrier: str = "UPS",
    place: str = "US,NY,New York,10001",
    partition: int = 0,
    logged: str | None = None,
    description: str = "",
    day: str = _DAY,
) -> LogRecord:
    """A scan of a package, logged at the moment it happened unless `logged` says otherwise."""
    occurred_at = _moment(clock, day).replace(tzinfo=None).isoformat()
    value = f"{package},{occurred_at},{code},{status},{description},{carrier},{place},{stop}"
    return _record("ship-events", package, value, partition, offset, at(logged or clock, day))


def route(
    package: int = 42, end: int = 12, *, offset: int, route_id: int = 7, partition: int = 0, logged: str = "09:00"
) -> LogRecord:
    """A route of a package."""
    return _record("ship-routes", package, f"{route_id},{package},{end}", partition, offset, at(logged))


def withdrawal(package: int = 42, *, offset: int, partition: int = 0, logged: str = "09:00") -> LogRecord:
    """The withdrawal of a package's route."""
    return _record("ship-routes", package, None, partition, offset, at(logged))


def _record(topic: str, package: int, value: str | None, partition: int, offset: int, timestamp: int) -> LogRecord:
    return LogRecord(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp // 1000,
        key=str(package).encode(),
        value=None if value is None else value.encode(),
    )
