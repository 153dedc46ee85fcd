"""The verdicts on the example messages of the contract."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS, Example, load_examples
from pipelines.contracts.rules import FUTURE_TOLERANCE
from pipelines.contracts.topics import INPUT_TOPICS, MAX_NUMBER_DIGITS, SHIP_EVENTS, Topic
from pipelines.contracts.wire import Wire
from pipelines.transforms.judge import judged
from pipelines.wire_format import WireFormat
from tests.frames import record_frame
from tests.oracle.json_object import MAX_JSON_DEPTH
from tests.oracle.judge import judge
from tests.oracle.makers import scan
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError


@pytest.mark.parametrize("needs_offset", [False, True], ids=["in UTC", "with an offset"])
@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
@pytest.mark.parametrize("topic", INPUT_TOPICS, ids=lambda topic: topic.name)
def test_examples_get_their_verdicts(
    spark: SparkSession, topic: Topic, wire_format: WireFormat, needs_offset: bool
) -> None:
    wire, examples = Wire(wire_format, needs_offset), load_examples(topic.name, wire_format)
    records = record_frame(
        spark,
        [
            LogRecord(topic.name, 0, number, example.timestamp_ms, example.key, example.value)
            for number, example in enumerate(examples)
        ],
    )
    verdicts_of = judged(records, topic, wire).select("kafka_offset", "reason", "detail")
    rows = verdicts_of.orderBy("kafka_offset").collect()
    verdicts = {example.name: row["reason"] or ACCEPTED for example, row in zip(examples, rows, strict=True)}
    assert verdicts == {example.name: verdict_on(example, topic, wire) for example in examples}
    assert [row["kafka_offset"] for row in rows if row["reason"] and not row["detail"]] == []


def verdict_on(example: Example, topic: Topic, wire: Wire) -> str:
    """What the contract says of an example; the oracle, where a deployment has chosen otherwise."""
    if not wire.needs_offset:
        return example.verdict
    record = LogRecord(topic.name, 0, 0, example.timestamp_ms, example.key, example.value)
    try:
        judge(record, wire.format, wire.needs_offset)
    except RejectedError as rejection:
        return rejection.reason
    return ACCEPTED


def test_time_without_an_offset_is_none_where_that_is_chosen(spark: SparkSession) -> None:
    record, wire = scan(clock="10:00", offset=0), Wire("csv", needs_offset=True)
    values = [
        (record.value or b"").replace(b"T10:00:00", text) for text in (b"T10:00:00", b"T10:00:00Z", b"T12:00:00+02:00")
    ]
    records = [replace(record, offset=number, value=value) for number, value in enumerate(values)]
    frame = judged(record_frame(spark, records), SHIP_EVENTS, wire).orderBy("kafka_offset")
    first, *others = frame.select("reason", "detail", F.unix_micros("occurred_at")).collect()
    assert tuple(first) == ("bad_type", "occurredAt is not a time with an offset: 2026-03-01T10:00:00", None)
    assert [tuple(row) for row in others] == [(None, None, record.timestamp)] * 2


def test_what_is_told_of_a_key_that_is_not_utf8_can_be_read(spark: SparkSession) -> None:
    """Parquet readers other than Spark refuse a file with a text that is not."""
    record = replace(scan(clock="10:00", offset=0), key=b"\xff42")
    (row,) = (
        judged(record_frame(spark, [record]), SHIP_EVENTS, Wire("csv")).select(F.col("detail").cast("binary")).collect()
    )
    assert bytes(row[0]).decode().startswith("the key is \ufffd42, ")


def test_time_to_the_microsecond_and_in_any_offset_is_utc(spark: SparkSession) -> None:
    record = scan(clock="10:00", offset=0)
    texts = ["2026-03-01T10:00:00.123456789", "2026-03-01 12:30:00.123456+02:30", "2026-03-01T00:00:00.123456-10:00"]
    assert record.value is not None
    values = [record.value.replace(b"2026-03-01T10:00:00", text.encode()) for text in texts]
    records = [LogRecord("ship-events", 0, n, record.timestamp_ms, record.key, value) for n, value in enumerate(values)]
    rows = judged(record_frame(spark, records), SHIP_EVENTS, Wire("csv")).select(F.unix_micros("occurred_at")).collect()
    assert {row[0] for row in rows} == {record.timestamp + 123456}


def test_the_tolerance_ends_exactly_where_the_contract_says(spark: SparkSession) -> None:
    at_the_edge = scan(clock="10:10", logged="10:00", offset=0)
    beyond = scan(clock="10:10:00.000001", logged="10:00", offset=1)
    assert timedelta(minutes=10) == FUTURE_TOLERANCE
    rows = (
        judged(record_frame(spark, [at_the_edge, beyond]), SHIP_EVENTS, Wire("csv")).orderBy("kafka_offset").collect()
    )
    assert [row["reason"] for row in rows] == [None, "from_the_future"]


def test_json_may_be_as_deep_as_the_limit_and_no_deeper(spark: SparkSession) -> None:
    def nested(depth: int) -> bytes:
        inner = b"[" * (depth - 1) + b"]" * (depth - 1)
        return (
            b'{"trackingNumber":42,"occurredAt":"2026-03-01T10:00:00","eventCode":"S","currentStopId":1,"x":'
            + inner
            + b"}"
        )

    moment = scan(offset=0).timestamp_ms
    records = [
        LogRecord("ship-events", 0, depth, moment, b"42", nested(depth))
        for depth in (MAX_JSON_DEPTH, MAX_JSON_DEPTH + 1)
    ]
    rows = judged(record_frame(spark, records), SHIP_EVENTS, Wire("json")).orderBy("kafka_offset").collect()
    assert [row["reason"] for row in rows] == [None, "malformed"]


def test_verdict_on_a_long_number_does_not_depend_on_where_it_is(spark: SparkSession) -> None:
    """Jackson reads long texts in portions, and counts the digits of a number that lies in two of them differently."""
    moment = scan(offset=0).timestamp_ms

    def with_number(ahead: int, number: str, offset: int) -> LogRecord:
        value = (
            f'{{"ahead":"{"7" * ahead}","x":{number},"trackingNumber":42,"occurredAt":"2026-03-01T10:00:00",'
            f'"eventCode":"S","currentStopId":1,"behind":"\\"{"7" * 33_000}"}}'
        )
        return LogRecord("ship-events", 0, offset, moment, b"42", value.encode())

    numbers = (f"1e{'0' * (MAX_NUMBER_DIGITS - 1)}", f"1e{'0' * MAX_NUMBER_DIGITS}", f"0e{'0' * MAX_NUMBER_DIGITS}")
    records = [
        with_number(ahead, number, 3 * place + which)
        for place, ahead in enumerate(range(0, 9_000, 450))
        for which, number in enumerate(numbers)
    ]
    rows = judged(record_frame(spark, records), SHIP_EVENTS, Wire("json")).orderBy("kafka_offset").collect()
    assert [row["reason"] for row in rows] == [None, "malformed", "malformed"] * (len(records) // 3)


def test_json_text_may_not_go_on_after_the_object_as_an_array_or_an_object_could(spark: SparkSession) -> None:
    """Spark's parser stops after the first value; the decoder must not."""
    whole = b'{"trackingNumber":42,"occurredAt":"2026-03-01T10:00:00","eventCode":"S","currentStopId":1}'
    values = [whole + more for more in (b" ", b",{}", b',"x":{}', b",", b"]", b"}", b'},"x":{', b"],[")]
    moment = scan(offset=0).timestamp_ms
    records = [LogRecord("ship-events", 0, n, moment, b"42", value) for n, value in enumerate(values)]
    rows = judged(record_frame(spark, records), SHIP_EVENTS, Wire("json")).orderBy("kafka_offset").collect()
    assert [row["reason"] for row in rows] == [None, *["malformed"] * 7]


def test_a_field_of_megabytes_is_judged_without_a_stack_overflow(spark: SparkSession) -> None:
    record = scan(offset=0, description='"' + 'a""b,\n' * 300_000 + '"')
    row = judged(record_frame(spark, [record]), SHIP_EVENTS, Wire("csv")).first()
    assert row is not None
    assert row["reason"] is None
    assert row["status_description"] == 'a"b,\n' * 300_000
