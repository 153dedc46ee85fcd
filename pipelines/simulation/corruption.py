"""Records that the contract rejects: one function for each reason of the quarantine, and a second one for a key."""

from datetime import timedelta
from random import Random

from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.simulation.draft import Draft
from pipelines.simulation.record import Record
from pipelines.simulation.units import DAY_US, HOUR_US, SECOND_US
from pipelines.simulation.wire import written_time

BAD_INTEGERS = ("12a", "1.0", "1e3", "9223372036854775808", "٣", " 7", "0x1F", "--4")
BAD_TIMES = (
    "2026-02-30T10:00:00Z",
    "2026-01-05T25:00:00Z",
    "2026-01-05T10:00:00+0100",
    "2026-01-05T10:00:00.1234567890Z",
    "2026-01-05",
    "05/01/2026 10:00",
    "1767607200",
    "yesterday",
)


def empty(draft: Draft, rng: Random) -> Record:
    """No value, or one of zero bytes; of a route always the latter, because no value would withdraw it."""
    return draft.spoiled(draft.key, None if draft.topic is SHIP_EVENTS and rng.random() < 0.5 else b"")


def not_utf8(draft: Draft, rng: Random) -> Record:
    """A byte that occurs in no UTF-8 text, as a scanner that writes Latin-1 would send."""
    value = draft.value()
    at = int(rng.random() * len(value))
    return draft.spoiled(draft.key, value[:at] + b"\xfc" + value[at:])


def malformed(draft: Draft, rng: Random) -> Record:
    """A wrong number of fields, broken quoting, broken JSON."""
    value = draft.value()
    if value.startswith(b"{"):
        broken = (value[:-1], value + b"}", value.replace(b":", b"=", 1), value.replace(b",", b" ", 1), value[1:])
    else:
        too_few = value.rsplit(b",", 1)[0]
        broken = (too_few, value + b",", b'1"' + value, b'"' + value, value + b"\n" + value)
    return draft.spoiled(draft.key, rng.choice(broken))


def missing_field(draft: Draft, rng: Random) -> Record:
    """A required field is null."""
    required = [field.name for field in draft.topic.fields if field.is_required]
    return draft.spoiled(draft.key, draft.with_field(rng.choice(required), "").value())


def bad_type(draft: Draft, rng: Random) -> Record:
    """A number or a time that is none."""
    field = rng.choice([field for field in draft.topic.fields if field.kind != "text"])
    text = rng.choice(BAD_TIMES if field.kind == "timestamp" else BAD_INTEGERS)
    return draft.spoiled(draft.key, draft.with_field(field.name, text).value())


def out_of_range(draft: Draft, rng: Random) -> Record:
    """A tracking number that is not positive, or a stop below 0."""
    last = draft.topic.fields[-1].name
    name, text = rng.choice((("trackingNumber", "0"), ("trackingNumber", f"-{draft.key.decode()}"), (last, "-1")))
    return draft.spoiled(draft.key, draft.with_field(name, text).value())


def key_mismatch(draft: Draft, rng: Random) -> Record:
    """The key is missing, another package's, or not the plain decimal number."""
    keys = (None, b"%d" % (int(draft.key) + 1), b"0" + draft.key, b"parcel-" + draft.key)
    return draft.spoiled(rng.choice(keys), draft.value())


def from_the_future(draft: Draft, rng: Random) -> Record:
    """A clock that is half a minute to two hours faster than the contract tolerates."""
    return _clock_off(draft, _microseconds(FUTURE_TOLERANCE) + 30 * SECOND_US + int(rng.random() * 2 * HOUR_US))


def too_late(draft: Draft, rng: Random) -> Record:
    """Half a minute to two weeks older than the contract accepts."""
    return _clock_off(draft, -_microseconds(LATENESS_LIMIT) - 30 * SECOND_US - int(rng.random() * 14 * DAY_US))


def _clock_off(draft: Draft, by_us: int) -> Record:
    occurred_at = written_time(draft.sent_ms * 1000 + by_us, draft.carrier)
    return draft.spoiled(draft.key, draft.with_field("occurredAt", occurred_at).value())


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def withdrawal_of_nothing(draft: Draft, rng: Random) -> Record:
    """A withdrawn route whose key is no positive integer."""
    return draft.spoiled(rng.choice((None, b"0", b"-" + draft.key, b"parcel")), None)
