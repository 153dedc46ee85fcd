"""Is a message accepted, and if not, by which rule? In plain Python, for those who have no Spark: `transforms/judge.py`
decides what is in the tables, and `make fuzz` requires that both say the same (ADR 23).
"""

from dataclasses import dataclass, field
from typing import Any

from pipelines.contracts.decode import RejectedError, decoded, integer, typed
from pipelines.contracts.grammar import KIND_MISSED
from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT, RECORD_TIMES_MS, Reason
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.contracts.wire import Wire

SECOND = 1_000_000
"""Microseconds of a second."""

SHOWN = 80
"""Characters of a wrong text or key that a detail quotes."""


@dataclass(frozen=True)
class Message:
    """What a producer sends, or means to.

    Attributes:
        value: None for a null value, which withdraws a route.
        key: None for a null key.
        timestamp_ms: The record's Kafka timestamp; None where it is not known, and then no rule is applied to it.
        has_key: Whether the key is known; otherwise no rule is applied to it.
    """

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int | None = None
    has_key: bool = True


@dataclass(frozen=True)
class Verdict:
    """What becomes of a message.

    Attributes:
        reason: Why it would be quarantined; None if it is accepted, or dropped as a repeat of another.
        detail: What exactly is wrong, for a person.
        columns: Of an accepted message, its values by column of silver; times in microseconds since the Unix epoch.
    """

    reason: Reason | None = None
    detail: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)


def judged(message: Message, topic: Topic, wire: Wire) -> Verdict:
    """The verdict on a message, which depends on that message alone."""
    is_withdrawal = topic == SHIP_ROUTES and message.value is None
    try:
        columns = _withdrawal(message) if is_withdrawal else _fields(message, topic, wire)
        _check_timestamp(message)
        if topic == SHIP_EVENTS:
            _check_occurred_at(message, columns["occurred_at"])
    except RejectedError as rejected:
        return Verdict(rejected.reason, rejected.detail)
    return Verdict(columns=columns if topic == SHIP_EVENTS else {**columns, "is_withdrawn": is_withdrawal})


def _withdrawal(message: Message) -> dict[str, Any]:
    """The key alone says which package: it is read like an integer of a value, and its spelling does not matter."""
    tracking_number = integer((message.key or b"").decode(errors="replace"))
    if message.has_key and (tracking_number is None or tracking_number <= 0):
        raise RejectedError(Reason.KEY_MISMATCH, f"the key is {_shown_key(message)}, not a tracking number")
    return {"route_id": None, "tracking_number": tracking_number, "end_stop_id": None}


def _fields(message: Message, topic: Topic, wire: Wire) -> dict[str, Any]:
    texts, mistyped = decoded(message.value or b"", topic.fields, wire.format)
    if missing := [each.name for each in topic.fields if each.is_required and texts[each.column] is None]:
        raise RejectedError(Reason.MISSING_FIELD, ", ".join(missing))
    columns: dict[str, Any] = {
        each.column: typed(each.kind, texts[each.column], wire.needs_offset) for each in topic.fields
    }
    with_offset = {"timestamp": " with an offset" * wire.needs_offset}
    faults = [f"{mistyped} has the wrong JSON type"] * (mistyped is not None) + [
        f"{each.name} is {KIND_MISSED[each.kind]}{with_offset.get(each.kind, '')}: {text[:SHOWN]}"
        for each in topic.fields
        if (text := texts[each.column]) is not None and columns[each.column] is None
    ]
    if faults:
        raise RejectedError(Reason.BAD_TYPE, ", ".join(faults))
    bounded = [each for each in topic.fields if each.name.endswith(("Number", "StopId"))]
    if any(columns[each.column] < (each.column == "tracking_number") for each in bounded):
        raise RejectedError(Reason.OUT_OF_RANGE, ", ".join(f"{each.name} = {texts[each.column]}" for each in bounded))
    number = str(columns["tracking_number"])
    if message.has_key and message.key != number.encode():
        raise RejectedError(Reason.KEY_MISMATCH, f"the key is {_shown_key(message)}, trackingNumber is {number}")
    return columns


def _shown_key(message: Message) -> str:
    return "no key" if message.key is None else message.key.decode(errors="replace")[:SHOWN]


def _check_timestamp(message: Message) -> None:
    first, last = RECORD_TIMES_MS
    if message.timestamp_ms is None or first < message.timestamp_ms < last:
        return
    where = "before the year 1" if message.timestamp_ms <= first else "after the year 9999: milliseconds are expected"
    raise RejectedError(Reason.BAD_TIMESTAMP, f"the record's timestamp is {where}")


def _check_occurred_at(message: Message, occurred_at: int) -> None:
    if message.timestamp_ms is None:
        return
    ahead = occurred_at - message.timestamp_ms * 1_000
    if ahead > FUTURE_TOLERANCE.total_seconds() * SECOND:
        raise RejectedError(Reason.FROM_THE_FUTURE, f"{ahead // SECOND} s after the record's timestamp")
    if -ahead > LATENESS_LIMIT.total_seconds() * SECOND:
        raise RejectedError(Reason.TOO_LATE, f"{-ahead // SECOND} s before the record's timestamp")
