"""Values that no producer should send, through whole batches: accepted or quarantined, and the tables are right.

The pipeline must survive what the broker lets through: values of up to 16 MiB, whatever their bytes.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lab.faults.damage import INVALID_UTF8
from lab.faults.judging import oracle_verdict
from lab.faults.poison import Measured, bad, bad_json, good, good_json, huge, large, told_ratios
from lab.faults.records import Lane
from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.contracts.wire import Wire
from pipelines.simulation.record import Record
from pipelines.simulation.wire import encoder
from pipelines.tables import BRONZE_SHIP_EVENTS, BRONZE_SHIP_ROUTES
from pipelines.wire_format import WireFormat
from tests.batches import batches, new_lake, run, tables
from tests.comparison import Rows, expected_bronze, expected_rows
from tests.frames import in_order, plain_rows
from tests.oracle.records import Header, LogRecord

MB = 1_000_000
LONG = 250_000
MOMENT_MS = 1_772_359_200_000
KEY = b"42"

LARGEST_MESSAGE = MB
"""What a producer sends unless told otherwise (`message.max.bytes`, `max.request.size`)."""

EVENT = {
    **{"trackingNumber": "42", "occurredAt": "2026-03-01T10:00:00", "eventCode": "SCAN", "statusCode": "IT"},
    **{"carrierCode": "UPS", "country": "US", "state": "NY", "city": "New York", "currentStopId": "3"},
}
ROUTE = {"routeId": "7", "trackingNumber": "42", "endStopId": "12"}

SHAPELESS = (
    *(b"," * (10 * MB), b'"a",' * LONG, b'"",' * LONG + b'""', b'"' * LONG, b'""' * LONG, b"\xff" * LONG),
    *(b"\0" * LONG, b"\\" * LONG, b"\n" * LONG, b"\r\n" * LONG, b"1" * LONG),
    *(b"[" * (10 * MB), b"[" * LONG + b"]" * LONG, b"{" * LONG, b'{"a":' * LONG),
    *(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, b'{"' + b"a" * LONG + b'":1}', b'{"a":' + b"9" * LONG + b"}"),
    *(b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(50_000)) + b"}", b'{"a":"' + b"\\u0000" * LONG + b'"}'),
)
"""Values that are malformed, or objects without a member that is known."""

LONG_TEXTS: tuple[dict[str, str], ...] = (
    {"statusDescription": "a" * (10 * MB), "city": "b" * LONG},
    {"statusDescription": 'a"b,\n' * 200_000},
    {"statusDescription": "\0" * LONG},
    {"statusDescription": "📦" * 250_000, "country": "\ufeff"},
    {"eventCode": "\r" * LONG},
    {"statusCode": "c" * LONG},
    {"statusCode": "\x01" * LONG},
    {"occurredAt": "2026-03-01T10:00:00." + "0" * LONG},
)
"""Members of events: all but the last are accepted, for a text may be anything and have any length."""

ODD_MEMBERS = (
    *(b'"trackingNumber":42', b'"x":1,"x":1', b'"x":{"y":1,"\\u0079":1}', b'"x":1e999', b'"x":-1e999', b'"x":NaN'),
    *(b'"x":' + b"9" * 40, b'"x":%d' % 2**63, b'"y":"\\ud800"', b'"x":' + b"0" * MB + b"42"),
)
ODD_TIMES = (
    *("0000-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999Z"),
    *("2026-03-01T10:00:00+18:00", "2026-03-01T10:00:00-18:00", "2026-03-01T10:00:00+18:01", "2026-06-30T23:59:60Z"),
)

KEYS = (None, b"", b"\0", b"\xff", b"042", b"4" * MB, b"\xef\xbb\xbf42")
HEADERS: tuple[tuple[Header, ...], ...] = (
    *((), (("trace", None),), (("", b""),), (("trace", None), ("trace", b"\0\xff"))),
    *((("x", b"\0" * MB),), tuple((f"header-{number}", None) for number in range(1_000))),
)


def poisoned(wire_format: WireFormat) -> list[LogRecord]:
    """Records of both topics, of which some are good."""
    return [
        LogRecord(topic.name, 0, offset, MOMENT_MS + offset, key, value, headers)
        for topic in INPUT_TOPICS
        for offset, (key, value, headers) in enumerate(
            chain(_by_value(topic, wire_format), _by_key(topic, wire_format))
        )
    ]


def _by_value(topic: Topic, wire_format: WireFormat) -> Iterator[tuple[bytes, bytes | None, None]]:
    yield from ((KEY, value, None) for value in (*_values(topic, wire_format), *SHAPELESS, b"", None))


def _by_key(topic: Topic, wire_format: WireFormat) -> Iterator[tuple[bytes | None, bytes | None, Any]]:
    good = written(topic, wire_format)
    yield from ((key, value, None) for key in KEYS for value in (good, None))
    yield from ((KEY, value, headers) for headers in HEADERS for value in (good, None))


def _values(topic: Topic, wire_format: WireFormat) -> Iterator[bytes]:
    """Good values with something in them that is not."""
    good = written(topic, wire_format)
    yield from (good, b"\xef\xbb\xbf" + good, good + b"\0", b"\0" + good, good + good, good + b" " * MB)
    yield from (good[: len(good) // 2] + invalid + good[len(good) // 2 :] for invalid in INVALID_UTF8)
    for name in ("trackingNumber", topic.fields[-1].name):
        yield from (written(topic, wire_format, **{name: text}) for text in ("", "0" * MB + "42", "9" * MB, "-", "\0"))
    if wire_format == "json":
        yield from (good[:-1] + b',"x":' + b"[" * depth + b"]" * depth + b"}" for depth in (998, 999, 10_000))
        yield from (good[:-1] + b"," + member + b"}" for member in ODD_MEMBERS)
    if topic == SHIP_EVENTS:
        yield from (written(topic, wire_format, occurredAt=time) for time in ODD_TIMES)
        yield from (written(topic, wire_format, currentStopId=str(n), **texts) for n, texts in enumerate(LONG_TEXTS))


def written(topic: Topic, wire_format: WireFormat, **changed: str) -> bytes:
    """A good value with other texts in some fields."""
    texts = (EVENT if topic == SHIP_EVENTS else ROUTE) | changed
    fields = tuple(texts.get(field.name, "") for field in topic.fields)
    return encoder(topic, wire_format)(fields)


def shortened(rows: Rows) -> Rows:
    """Rows in which what is long is told by its length and digest, so that a difference can be read."""
    return in_order({name: _short(value) for name, value in row.items()} for row in rows)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(each) for each in value]
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if not isinstance(value, str | bytes) or len(value) < 100:
        return value
    return f"{len(value)}: {sha256(value if isinstance(value, bytes) else value.encode()).hexdigest()}"


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_poison_is_accepted_or_quarantined_by_the_rules_and_nothing_else_suffers(
    spark: SparkSession, tmp_path: Path, wire_format: WireFormat
) -> None:
    records = poisoned(wire_format)
    lake = new_lake(spark, str(tmp_path))
    wires = dict.fromkeys((topic.name for topic in INPUT_TOPICS), Wire(wire_format))
    _, log = run(lake, spark, records, batches(records), wires=wires)

    found, expected = tables(lake), expected_rows(records, wire_format)
    assert {name: shortened(rows) for name, rows in found.items()} == {
        name: shortened(rows) for name, rows in expected.items()
    }
    for topic, table in ((SHIP_EVENTS, BRONZE_SHIP_EVENTS), (SHIP_ROUTES, BRONZE_SHIP_ROUTES)):
        archived = plain_rows(lake.read(table).drop("ingested_at"))
        assert shortened(archived) == shortened(expected_bronze(records, topic.name))
    assert {row["reason"] for row in expected["silver.quarantine"]} >= {
        *("empty", "not_utf8", "malformed", "missing_field", "bad_type", "key_mismatch")
    }
    assert len(expected["silver.ship_events"]) >= len(LONG_TEXTS) - 1
    assert all(len(value.encode()) < LARGEST_MESSAGE for _, value in log.sent if value is not None)


def test_records_of_the_measured_drain_are_good_and_bad_for_every_reason() -> None:
    in_csv, in_json = (Lane(SHIP_EVENTS, wire_format) for wire_format in WIRE_FORMATS)
    verdicts = {
        maker: Counter(oracle_verdict(_on_log(maker(number)), lane).name for number in range(40))
        for lane, makers in ((in_csv, (good, bad, large, huge)), (in_json, (good_json, bad_json)))
        for maker in makers
    }
    assert all(verdicts[maker] == {ACCEPTED: 40} for maker in (good, good_json, large, huge))
    sendable = set(Reason) - {Reason.BAD_TIMESTAMP}  # the embedded broker takes none of these
    assert all(set(verdicts[maker]) == sendable for maker in (bad, bad_json))


def _on_log(record: Record) -> LogRecord:
    return LogRecord(record.topic, 0, 0, record.timestamp_ms, record.key, record.value)


FOUND = {
    **{"good": Measured(100, 1.0, 500), "bad": Measured(100, 1.9, 600), "good JSON": Measured(100, 2.0, 500)},
    **{"bad JSON": Measured(100, 2.0, 500), "large": Measured(1, 1.0, 700)},
}


def test_slow_bad_records_and_much_memory_are_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_ratios(FOUND) == 0
    said = capsys.readouterr().out
    assert "bad to good: 0.53 of the speed\nbad JSON to good JSON: 1.00 of the speed\n" in said
    assert "large to good: 1.40 of the memory\n" in said
    for name, measured, says in (
        *(("bad", Measured(100, 2.1, 500), "go at"), ("bad JSON", Measured(100, 4.1, 500), "go at")),
        *(("bad JSON", Measured(100, 2.0, 751), "take more"), ("large", Measured(1, 1.0, 751), "take more")),
    ):
        assert told_ratios({**FOUND, name: measured}) == 1
        assert f"\nRecords that are {name} {says} " in capsys.readouterr().out
