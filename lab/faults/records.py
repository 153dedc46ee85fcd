"""Random records of both topics and formats: each is a pure function of a seed and its number."""

from dataclasses import dataclass, field
from random import Random

from lab.faults import texts
from lab.faults.damage import INVALID_UTF8, damaged
from lab.faults.writing import Fields, csv_value, json_value
from pipelines.contracts.examples import WIRE_FORMATS
from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT, RECORD_TIMES_MS
from pipelines.contracts.topics import INPUT_TOPICS, Topic, WireField
from pipelines.contracts.wire import Wire
from pipelines.wire_format import WireFormat
from tests.oracle import decode
from tests.oracle.records import Header, LogRecord
from tests.oracle.rejection import RejectedError


@dataclass(frozen=True)
class Lane:
    """A way through the decoders.

    Attributes:
        topic: What the record is of.
        wire_format: In which format its value is read.
        needs_offset: Whether a time that names no offset is none.
    """

    topic: Topic = field(hash=False)
    wire_format: WireFormat
    needs_offset: bool = False

    @property
    def wire(self) -> Wire:
        return Wire(self.wire_format, self.needs_offset)


LANES = tuple(Lane(topic, wire_format) for topic in INPUT_TOPICS for wire_format in WIRE_FORMATS)

USUAL_MS = 1_772_359_200_000
"""2026-03-01T10:00:00Z, when `occurredAt` says nothing."""

_FUTURE_US, _LATE_US = (int(span.total_seconds()) * 1_000_000 for span in (FUTURE_TOLERANCE, LATENESS_LIMIT))
DELAYS_US = (
    *(0, 0, 0, 0, 1_000_000, 86_400_000_000, -60_000_000),
    *(edge + step for edge in (-_FUTURE_US, _LATE_US) for step in (-1_000, -1, 0, 1, 1_000)),
    *(-3_600_000_000, 30 * 86_400_000_000),
)
"""From when it happened to the Kafka timestamp: also just within the tolerance, at it, and beyond it."""

ODD_TIMES_MS = (
    *(edge + step for edge in RECORD_TIMES_MS for step in (-1, 0, 1)),
    *(-1, 0, 1, 1_772_359_200, 1_772_359_200_000_000, 1_772_359_200_000_000_000),
    *((1 << 63) // 1_000 - 1, (1 << 63) // 1_000, (1 << 63) - 1),
    *(-(1 << 63) // 1_000 + 1, -(1 << 63) // 1_000, -(1 << 63)),
)
"""Around what tables hold, and what Spark and Kafka do; and what a producer sends that counts in another unit. A broker
carries all of them; of a producer in Python, it gets its own time in place of 0.
"""

BAD_KEYS = (
    *(None, b"", b" ", b"\0", b"42\0", b"42\n", b"42 ", b" 42", b"forty-two", b"0", b"-42", b"4" * 40),
    *INVALID_UTF8,
)
HEADERS: tuple[tuple[Header, ...] | None, ...] = (None, None, (), (("trace", b"\0\xff"), ("trace", None)), (("", b""),))


def lane(number: int) -> Lane:
    """The lane of a record, by its number."""
    return LANES[number % len(LANES)]


def record(seed: int, number: int) -> LogRecord:
    """Record `number` of a seed: ordinary, at the edge of a rule, badly written or damaged."""
    rng = Random(f"{seed}/{number}")
    topic, wire_format = lane(number).topic, lane(number).wire_format
    fields = _fields(rng, topic)
    value = _value(rng, topic, wire_format, fields)
    if rng.random() < 0.35:
        value = damaged(rng, value, _value(rng, topic, rng.choice(WIRE_FORMATS), _fields(rng, topic)))
    hardly_any = (None, b"", b"\n", b" ", b"{}", b",,", rng.randbytes(rng.randint(1, 40)))
    return LogRecord(
        topic=topic.name,
        partition=0,
        offset=number,
        timestamp_ms=_timestamp_ms(rng, fields),
        key=_key(rng, fields["trackingNumber"]),
        value=rng.choice(hardly_any) if rng.random() < 0.04 else value,
        headers=rng.choice(HEADERS),
    )


def _fields(rng: Random, topic: Topic) -> Fields:
    """Ordinary texts, of which some, or rarely all, are at an edge."""
    unusual_share = rng.choice((0.0, 0.0, 0.1, 0.3, 0.9))
    return {
        field.name: _unusual(rng, field) if rng.random() < unusual_share else _ordinary(rng, field)
        for field in topic.fields
    }


def _ordinary(rng: Random, field: WireField) -> str:
    if field.kind == "integer":
        return str(rng.randint(1, 99))
    if field.kind == "timestamp":
        return texts.recent_time(rng)
    return rng.choice(texts.ORDINARY) if field.is_required or rng.random() < 0.7 else ""


def _unusual(rng: Random, field: WireField) -> str:
    if rng.random() < 0.1:
        return ""
    if field.kind == "integer":
        return texts.integer(rng)
    return texts.time(rng) if field.kind == "timestamp" else texts.text(rng)


def _value(rng: Random, topic: Topic, wire_format: str, fields: Fields) -> bytes:
    return (csv_value if wire_format == "csv" else json_value)(rng, topic, fields)


def _key(rng: Random, tracking_number: str) -> bytes | None:
    """The tracking number in decimal, now and then as it is spelled in the value, or something else."""
    chance = rng.random()
    if chance < 0.03:
        return rng.choice(BAD_KEYS)
    if chance < 0.06:
        return texts.integer(rng).encode()
    try:
        return str(decode.integer(tracking_number)).encode() if chance < 0.95 else tracking_number.encode()
    except RejectedError:
        return tracking_number.encode()


def _timestamp_ms(rng: Random, fields: Fields) -> int:
    """Shortly after `occurredAt`, or around an edge of what the rules tolerate; whatever the year, and the unit."""
    if rng.random() < 0.02:
        return rng.choice(ODD_TIMES_MS)
    try:
        occurred_us = decode.timestamp(fields.get("occurredAt"))
    except RejectedError:
        return USUAL_MS
    return -(-(occurred_us + rng.choice(DELAYS_US)) // 1000)
