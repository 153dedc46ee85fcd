"""Is a record accepted, and if not, by which rule? The rules themselves are in `contracts/rules.py`."""

from functools import cache, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.grammar import INTEGER, KIND_MISSED, MOMENT, OFFSET
from pipelines.contracts.rules import FUTURE_TOLERANCE, LATENESS_LIMIT, RECORD_TIMES_MS, Reason
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES, Topic, WireField
from pipelines.contracts.wire import Wire
from pipelines.transforms.decode import decoding

WHOLE_INTEGER = rf"\A{INTEGER}\z"
TIMESTAMP, TIMESTAMP_WITH_OFFSET = rf"\A{MOMENT}{OFFSET}?\z", rf"\A{MOMENT}{OFFSET}\z"


def judged(records: DataFrame, topic: Topic, wire: Wire) -> DataFrame:
    """The records with `reason` (null: accepted), `detail` (for a person: what exactly was wrong), the topic's typed
    columns, and others that are needed on the way (`decoding`).

    Order-free: the verdict on a record depends on that record alone. For topic ship-routes there is `is_withdrawn`
    too, and a withdrawal's tracking_number is its key.
    """
    return reduce(DataFrame.withColumns, steps(topic, wire), records)


@cache
def steps(topic: Topic, wire: Wire) -> tuple[dict[str, Column], ...]:
    """Columns to add, one step after the other; made once, for each of them is some calls into the JVM."""
    by_topic = _route_steps() if topic == SHIP_ROUTES else _event_steps(wire.needs_offset)
    return (*decoding(topic, wire.format), *by_topic, {"detail": _detail(topic, wire)})


def _event_steps(needs_offset: bool) -> tuple[dict[str, Column], ...]:
    occurred_at, appended_at = F.col("occurred_at"), F.col("kafka_timestamp")
    reason = (
        _broken_syntax_or_type(SHIP_EVENTS)
        .when((F.col("tracking_number") <= 0) | (F.col("current_stop_id") < 0), Reason.OUT_OF_RANGE.value)
        .when(_key_differs(), Reason.KEY_MISMATCH.value)
        .when(_has_no_time(), Reason.BAD_TIMESTAMP.value)
        .when(occurred_at > appended_at + F.lit(FUTURE_TOLERANCE), Reason.FROM_THE_FUTURE.value)
        .when(occurred_at < appended_at - F.lit(LATENESS_LIMIT), Reason.TOO_LATE.value)
    )
    return {field.column: _typed(field, needs_offset) for field in SHIP_EVENTS.fields}, {"reason": reason}


def _route_steps() -> tuple[dict[str, Column], ...]:
    is_withdrawn = F.col("value").isNull()
    package = {
        "is_withdrawn": is_withdrawn,
        "tracking_number": F.when(is_withdrawn, _integer(F.col("key").cast("string"))).otherwise(
            F.col("tracking_number")
        ),
    }
    route_reason = (
        _broken_syntax_or_type(SHIP_ROUTES)
        .when((F.col("tracking_number") <= 0) | (F.col("end_stop_id") < 0), Reason.OUT_OF_RANGE.value)
        .when(_key_differs(), Reason.KEY_MISMATCH.value)
        .when(_has_no_time(), Reason.BAD_TIMESTAMP.value)
    )
    names_no_package = F.coalesce(F.col("tracking_number") <= 0, F.lit(True))
    withdrawal_reason = F.when(names_no_package, Reason.KEY_MISMATCH.value).when(
        _has_no_time(), Reason.BAD_TIMESTAMP.value
    )
    reason = F.when(is_withdrawn, withdrawal_reason).otherwise(route_reason)
    return {field.column: _typed(field) for field in SHIP_ROUTES.fields}, package, {"reason": reason}


def _typed(field: WireField, needs_offset: bool = False) -> Column:
    """The field as its column's type; null where it is missing or does not parse."""
    text = F.col(f"wire.{field.column}")
    if field.kind == "integer":
        return _integer(text)
    return _timestamp(text, needs_offset) if field.kind == "timestamp" else text


def _integer(text: Column) -> Column:
    return F.when(text.rlike(WHOLE_INTEGER), text.try_cast("bigint"))


def _timestamp(text: Column, needs_offset: bool) -> Column:
    """UTC where the text may name no offset and does not: the session's time zone is UTC. Digits beyond the microsecond
    are cut off.
    """
    return F.when(text.rlike(TIMESTAMP_WITH_OFFSET if needs_offset else TIMESTAMP), text.try_cast("timestamp"))


def _broken_syntax_or_type(topic: Topic) -> Column:
    """The reasons that need no look at values, as the open start of a CASE."""
    required = (F.col(f"wire.{field.column}").isNull() for field in topic.fields if field.is_required)
    unparsed = (
        F.col(f"wire.{field.column}").isNotNull() & F.col(field.column).isNull()
        for field in topic.fields
        if field.kind != "text"
    )
    return (
        F.when(F.col("syntax").isNotNull(), F.col("syntax"))
        .when(reduce(Column.__or__, required), Reason.MISSING_FIELD.value)
        .when(F.col("mistyped").isNotNull() | reduce(Column.__or__, unparsed), Reason.BAD_TYPE.value)
    )


def _key_differs() -> Column:
    return ~F.col("key").cast("string").eqNullSafe(F.col("tracking_number").cast("string"))


def _has_no_time() -> Column:
    """Whether the Kafka timestamp is none that a producer can mean: it is stored as the first or the last there is."""
    first, last = RECORD_TIMES_MS
    return ~F.unix_millis("kafka_timestamp").between(first + 1, last - 1)


def _detail(topic: Topic, wire: Wire) -> Column:
    with_offset = " with an offset" * wire.needs_offset
    texts = {field.name: F.col(f"wire.{field.column}") for field in topic.fields}
    missing = F.concat_ws(
        ", ", *(F.when(texts[field.name].isNull(), field.name) for field in topic.fields if field.is_required)
    )
    unparsed = F.concat_ws(
        ", ",
        F.when(F.col("mistyped").isNotNull(), F.concat("mistyped", F.lit(" has the wrong JSON type"))),
        *(
            F.when(
                texts[field.name].isNotNull() & F.col(field.column).isNull(),
                F.concat(
                    F.lit(f"{field.name} is {KIND_MISSED[field.kind]}{with_offset * (field.kind == 'timestamp')}: "),
                    F.left(texts[field.name], F.lit(80)),
                ),
            )
            for field in topic.fields
            if field.kind in KIND_MISSED
        ),
    )
    key = F.coalesce(F.left(F.make_valid_utf8(F.col("key").cast("string")), F.lit(80)), F.lit("no key"))
    ahead = (
        F.timestamp_diff("SECOND", F.col("kafka_timestamp"), F.col("occurred_at")) if topic == SHIP_EVENTS else F.lit(0)
    )
    by_reason = {
        Reason.EMPTY: F.lit("the value has no bytes"),
        Reason.NOT_UTF8: F.lit("the value is not UTF-8"),
        Reason.MALFORMED: F.concat(F.lit("the value is not "), F.col("expected")),
        Reason.MISSING_FIELD: missing,
        Reason.BAD_TYPE: unparsed,
        Reason.OUT_OF_RANGE: F.concat_ws(
            ", ",
            *(
                F.concat(F.lit(f"{field.name} = "), texts[field.name])
                for field in topic.fields
                if field.name.endswith(("Number", "StopId"))
            ),
        ),
        Reason.KEY_MISMATCH: F.concat(
            F.lit("the key is "), key, F.when(F.col("value").isNull(), ", not a tracking number").otherwise(
                F.concat(F.lit(", trackingNumber is "), F.col("tracking_number").cast("string"))
            )
        ),
        Reason.BAD_TIMESTAMP: F.when(
            F.year("kafka_timestamp") == 1, "the record's timestamp is before the year 1"
        ).otherwise("the record's timestamp is after the year 9999: milliseconds are expected"),
        Reason.FROM_THE_FUTURE: F.concat(ahead.cast("string"), F.lit(" s after the record's timestamp")),
        Reason.TOO_LATE: F.concat((-ahead).cast("string"), F.lit(" s before the record's timestamp")),
    }  # fmt: skip
    return reduce(
        lambda case, reason: case.when(F.col("reason") == reason.value, by_reason[reason]),
        by_reason,
        F.when(F.lit(False), None),
    )
