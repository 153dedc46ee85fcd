"""The judge without Spark: the examples of the contract, the oracle's verdicts on random records, and what it says."""

from dataclasses import replace

import pytest

from lab.faults.judging import offline_verdict, oracle_verdict
from lab.faults.kept import KEPT, MOMENT_MS
from lab.faults.records import LANES, Lane, lane, record
from pipelines.contracts.decode import integer, typed
from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS, load_examples
from pipelines.contracts.judge import Message, judged
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import INPUT_TOPICS, MAX_JSON_LEVELS, SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.contracts.wire import Wire
from pipelines.wire_format import WireFormat
from tests.oracle.decode import timestamp
from tests.oracle.records import LogRecord

COUNT = 3_000
SEED = 20261126
CSV = Wire("csv")
MOMENT = "2026-03-01T10:00:00"
"""`MOMENT_MS`, as a value tells it."""


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
@pytest.mark.parametrize("topic", INPUT_TOPICS, ids=lambda topic: topic.name)
def test_examples_get_their_verdicts(topic: Topic, wire_format: WireFormat) -> None:
    examples = load_examples(topic.name, wire_format)
    verdicts = {
        example.name: judged(Message(example.value, example.key, example.timestamp_ms), topic, Wire(wire_format))
        for example in examples
    }
    assert {name: verdict.reason or ACCEPTED for name, verdict in verdicts.items()} == {
        example.name: example.verdict for example in examples
    }
    assert [name for name, verdict in verdicts.items() if verdict.reason and not verdict.detail] == []


@pytest.mark.parametrize("needs_offset", [False, True], ids=["in UTC", "with an offset"])
def test_it_says_of_every_input_what_the_oracle_says(needs_offset: bool) -> None:
    """`make fuzz` compares it with Spark, too, and the details."""
    of = {each: replace(each, needs_offset=needs_offset) for each in LANES}
    seen = set()
    for number in range(COUNT):
        each, random = of[lane(number)], record(SEED, number)
        expected = oracle_verdict(random, each)
        assert offline_verdict(random, each)[0] == expected, random
        seen.add(expected.name)
    assert seen == {ACCEPTED, *Reason}


def test_inputs_on_which_pipeline_and_oracle_differed_get_the_verdict_of_the_contract() -> None:
    of = Lane(SHIP_EVENTS, "json")
    records = {kept.name: LogRecord("ship-events", 0, 0, MOMENT_MS, b"42", kept.value) for kept in KEPT}
    verdicts = {name: offline_verdict(each, of)[0].name for name, each in records.items()}
    assert verdicts == {kept.name: kept.verdict for kept in KEPT}


@pytest.mark.parametrize(("levels", "reason"), [(MAX_JSON_LEVELS, None), (MAX_JSON_LEVELS + 1, Reason.MALFORMED)])
def test_json_may_be_as_deep_as_the_limit_and_no_deeper(levels: int, reason: Reason | None) -> None:
    inner = "[" * (levels - 1) + "]" * (levels - 1)
    value = f'{{"trackingNumber":42,"occurredAt":"{MOMENT}","eventCode":"S","currentStopId":1,"x":{inner}}}'
    assert judged(Message(value.encode(), b"42", MOMENT_MS), SHIP_EVENTS, Wire("json")).reason == reason


@pytest.mark.parametrize("value", [b"," * (1 << 24), b'"' + b'a""b,\n' * (1 << 21), b"[" * (1 << 22), b"{" * 10_000])
@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_values_of_megabytes_are_malformed_like_others(value: bytes, wire_format: WireFormat) -> None:
    assert judged(Message(value, b"42"), SHIP_EVENTS, Wire(wire_format)).reason == Reason.MALFORMED


def test_without_a_timestamp_or_a_key_their_rules_are_left_out() -> None:
    value = b"42,1999-01-01T00:00:00,SCAN,,,,,,,,3"
    assert judged(Message(value, b"42", MOMENT_MS), SHIP_EVENTS, CSV).reason == Reason.TOO_LATE
    assert judged(Message(value, b"42"), SHIP_EVENTS, CSV).reason is None
    assert judged(Message(value), SHIP_EVENTS, CSV).reason == Reason.KEY_MISMATCH
    assert judged(Message(value, has_key=False), SHIP_EVENTS, CSV).reason is None
    assert judged(Message(None, has_key=False), SHIP_ROUTES, CSV).reason is None


def test_integers_of_any_length_are_read() -> None:
    assert integer("-" + "0" * 10_000 + str(1 << 63)) == -(1 << 63)
    assert integer("9" * 10_000) is None


@pytest.mark.parametrize(
    "text",
    [
        *("0000-01-01T00:00:00", "0000-02-29 23:59:59.9Z", "0000-12-31T23:59:59-18:00", "0001-01-01T00:00:00+18:00"),
        *("9999-12-31T23:59:59.999999999-18:00", "1969-12-31T23:59:59.9999999"),
    ],
)
def test_first_and_last_years_are_years_of_the_calendar(text: str) -> None:
    assert typed("timestamp", text) == timestamp(text)
