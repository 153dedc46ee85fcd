"""What stands on the kept topics is readable with a key, or not at all."""

import pytest

from pipelines.contracts.decode import decoded
from pipelines.contracts.encode import encoded
from pipelines.contracts.envelope import day_of, largest_sealed, new_key, opened_fields, opened_value
from pipelines.contracts.judge import Message, judged
from pipelines.contracts.rules import Reason
from pipelines.contracts.seal import how_sealed, sealed
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.contracts.wire import Wire

FIELDS = ("postal_code", "city", "status_description")
AT_MS = 1_767_263_100_000
CSV = b'42,2026-01-01T10:05:00Z,A1,IT,"left, with the\rneighbour ""B""",UPS,DE,BY,M\xc3\xbcnchen,80331,+3\r\n'
JSON = (
    '{"trackingNumber":42,"occurredAt":"2026-01-01T10:05:00Z","eventCode":"","statusDescription":"at the Maiers",'
    '"city":"München","postalCode":"80331","currentStopId":"007","customer":"Maier"}'
).encode()
CLEAR = (b"nchen", b"80331", b"neighbour", b"Maier")


class FixedKeys:
    """A key for each package, and one for the day."""

    def __init__(self) -> None:
        self.keys: dict[int, bytes] = {}
        self.day = new_key()

    def of_package(self, tracking_number: int) -> bytes:
        return self.keys.setdefault(tracking_number, new_key())

    def of_today(self) -> tuple[str, bytes]:
        return "2026-01-01", self.day


@pytest.mark.parametrize(("wire", "value"), [(Wire("csv"), CSV), (Wire("json"), JSON)], ids=["csv", "json"])
def test_sealed_scan_has_the_verdict_and_the_other_columns_of_the_clear_one(wire: Wire, value: bytes) -> None:
    keys, clear = FixedKeys(), Message(value, b"42", AT_MS)
    kept = sealed(clear, SHIP_EVENTS, wire, FIELDS, keys)
    before, after = (judged(message, SHIP_EVENTS, wire).columns for message in (clear, kept))
    assert kept.value is not None
    assert how_sealed(clear, kept) == "understood"
    assert not any(text in kept.value for text in CLEAR)
    assert {name: text for name, text in after.items() if name not in FIELDS} == {
        name: text for name, text in before.items() if name not in FIELDS
    }
    assert (after["city"], after["postal_code"]) == (None, None)
    opened = opened_fields(after["status_description"], keys.keys[42], 42, "ship-events")
    assert opened == {name: before[name] for name in FIELDS}


def test_envelope_opens_with_its_key_for_its_package_and_topic_alone() -> None:
    keys = FixedKeys()
    kept = sealed(Message(CSV, b"42", AT_MS), SHIP_EVENTS, Wire("csv"), FIELDS, keys)
    envelope = decoded(kept.value or b"", SHIP_EVENTS.fields, "csv")[0]["status_description"]
    assert envelope is not None
    assert opened_fields(envelope, new_key(), 42, "ship-events") is None
    assert opened_fields(envelope, keys.keys[42], 43, "ship-events") is None
    assert opened_fields(envelope, keys.keys[42], 42, "ship-routes") is None
    assert opened_fields(envelope[:-4] + "AAA=", keys.keys[42], 42, "ship-events") is None
    assert opened_fields("left with Maier", keys.keys[42], 42, "ship-events") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"42", b"Maier, 80331 M\xc3\xbcnchen"),
        (b"Maier", CSV),
        (b"42", CSV.replace(b"+3", b"Maier")),
        (b"42", b"\xff Maier"),
    ],
    ids=["malformed", "key", "bad type", "not UTF-8"],
)
def test_what_is_not_understood_is_sealed_whole_under_the_key_of_its_day(key: bytes, value: bytes) -> None:
    keys = FixedKeys()
    kept = sealed(Message(value, key, AT_MS), SHIP_EVENTS, Wire("csv"), FIELDS, keys)
    assert kept.value is not None
    assert how_sealed(Message(value, key, AT_MS), kept) == "whole"
    assert not any(text in kept.value + (kept.key or b"") for text in CLEAR)
    for wire in (Wire("csv"), Wire("json")):
        for topic in (SHIP_EVENTS, SHIP_ROUTES):
            assert judged(kept, topic, wire).reason == Reason.MALFORMED
    assert day_of(kept.value) == "2026-01-01"
    assert opened_value(kept.value, keys.day, "ship-events") == value
    assert opened_value(kept.value, None, "ship-events") is None


@pytest.mark.parametrize("wire", [Wire("csv"), Wire("json")], ids=["csv", "json"])
@pytest.mark.parametrize("length", [700, 1_000, 30_000])
def test_what_has_no_room_when_it_is_sealed_is_sealed_whole_or_its_beginning_is(length: int, wire: Wire) -> None:
    """The text of control characters would be six times as long within an envelope, and 700 bytes fit whole."""
    keys, most = FixedKeys(), 1_500
    texts = dict.fromkeys(field.column for field in SHIP_EVENTS.fields)
    texts |= {
        "tracking_number": "42",
        "occurred_at": "2026-01-01T10:05:00Z",
        "event_code": "A1",
        "current_stop_id": "3",
    }
    texts["status_description"] = "\x01" * length
    clear = Message(encoded(list(texts.values()), SHIP_EVENTS, wire.format), b"42", AT_MS)
    assert clear.value is not None
    kept = sealed(clear, SHIP_EVENTS, wire, FIELDS, keys, most)
    assert kept.value is not None
    assert len(kept.value) <= most
    assert kept.key == b"42"
    opened = opened_value(kept.value, keys.day, "ship-events")
    assert opened is not None
    assert clear.value.startswith(opened)
    assert (how_sealed(clear, kept) == "cut") == (len(clear.value) > largest_sealed(most)) == (opened != clear.value)
    assert how_sealed(clear, sealed(clear, SHIP_EVENTS, wire, FIELDS, keys)) != "cut"


def test_key_of_megabytes_is_not_kept() -> None:
    keys = FixedKeys()
    kept = sealed(Message(b"malformed", b"0" * 2_000_000 + b"42", AT_MS), SHIP_EVENTS, Wire("csv"), FIELDS, keys)
    assert kept.key is None


def test_scan_out_of_time_is_sealed_by_its_fields_and_stays_out_of_time() -> None:
    kept = sealed(Message(CSV, b"42", 0), SHIP_EVENTS, Wire("csv"), FIELDS, FixedKeys())
    assert kept.value is not None
    assert not any(text in kept.value for text in CLEAR)
    assert judged(kept, SHIP_EVENTS, Wire("csv")).reason == Reason.FROM_THE_FUTURE


@pytest.mark.parametrize("value", [b"7,42,9", None], ids=["route", "withdrawal"])
def test_route_is_moved_as_it_is(value: bytes | None) -> None:
    message = Message(value, b"42", AT_MS)
    assert sealed(message, SHIP_ROUTES, Wire("csv"), FIELDS, FixedKeys()) == message
