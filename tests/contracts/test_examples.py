import pytest

from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS, Example, load_examples, parse_examples
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from tests.oracle.judge import judge
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError

GOOD = """
[[message]]
name = "a-scan"
timestamp = "2026-03-01T10:00:00.123+01:00"
key_hex = "34 32"
csv = "42"
verdict = "bad_type"
"""


EXAMPLES = [
    pytest.param(topic.name, wire_format, example, id=f"{topic.name}-{wire_format}-{example.name}")
    for topic in INPUT_TOPICS
    for wire_format in WIRE_FORMATS
    for example in load_examples(topic.name, wire_format)
]


@pytest.mark.parametrize(("topic", "wire_format", "example"), EXAMPLES)
def test_the_oracle_agrees_with_the_verdict_on(topic: str, wire_format: str, example: Example) -> None:
    record = LogRecord(topic, 0, 0, example.timestamp_ms, example.key, example.value)
    try:
        judge(record, wire_format)
        verdict = ACCEPTED
    except RejectedError as rejection:
        verdict = rejection.reason
    assert verdict == example.verdict


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_every_verdict_has_an_example(wire_format: str) -> None:
    of_scans = {example.verdict for example in load_examples(SHIP_EVENTS.name, wire_format)}
    of_routes = {example.verdict for example in load_examples(SHIP_ROUTES.name, wire_format)}
    assert of_scans == {ACCEPTED, *Reason}
    assert of_routes == of_scans - {Reason.FROM_THE_FUTURE, Reason.TOO_LATE}


def test_a_message_is_an_example_in_the_formats_that_it_has() -> None:
    assert parse_examples(GOOD, "csv") == [Example("a-scan", b"42", b"42", 1_772_355_600_123, "bad_type")]
    assert parse_examples(GOOD, "json") == []


def test_a_null_value_is_an_example_in_every_format() -> None:
    text = GOOD.replace('csv = "42"', "value_is_null = true")
    assert [parse_examples(text, wire_format)[0].value for wire_format in WIRE_FORMATS] == [None, None]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD + "cvs = '42'", "a-scan has unknown cvs"),
        (GOOD.replace("verdict", "json"), "a-scan lacks verdict"),
        (GOOD.replace("bad_type", "bad"), "a-scan has unknown verdict bad"),
        (GOOD + "key = '42'", "a-scan has both key and key_hex"),
        (GOOD.replace('csv = "42"', ""), "a-scan needs either a value"),
        (GOOD + "value_is_null = true", "a-scan needs either a value"),
        (GOOD.replace("+01:00", ""), "a-scan has a timestamp without an offset"),
        (GOOD + GOOD, "two messages are named a-scan"),
        ("version = 1", "unknown version"),
    ],
)
def test_a_mistake_in_the_file_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_examples(text, "csv", origin="examples")
