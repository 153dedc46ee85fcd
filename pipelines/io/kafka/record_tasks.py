"""Records that Spark's Kafka source cannot read, read by Spark tasks in Python: slower, and whatever their time is."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import cast

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.contracts.rules import RECORD_TIMES_MS
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import Refusals, check_right
from pipelines.io.kafka.standalone_consumer import BYTES_AT_ONCE, standalone_consumer

Range = tuple[str, int, int, int]
"""Topic, partition, and offsets from the first to the one after the last."""

SCHEMA = pa.schema(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
        "kafka_topic": pa.string(),
        "kafka_partition": pa.int32(),
        "kafka_offset": pa.int64(),
        "kafka_timestamp": pa.timestamp("us", "UTC"),
    }
)
RECORDS_AT_ONCE = 5_000
PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.5


def records_by_tasks(spark: SparkSession, connection: Connection, ranges: Sequence[Range]) -> DataFrame:
    """The committed records of the ranges, in the columns of `KafkaLog.records`; a task for each range.

    An action fails as Spark's own reader does when the log no longer holds all of them.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield from _read(connection, ranges[number])

    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(read, from_arrow_schema(SCHEMA))


def _read(connection: Connection, wanted: Range) -> Iterator[pa.RecordBatch]:
    topic, partition, start, end = wanted
    refusals = Refusals(connection)
    consumer = standalone_consumer(connection, refusals, "read_committed", {"auto.offset.reset": "error"})
    with closing(consumer):
        consumer.assign([TopicPartition(topic, partition, start)])
        rows: list[Message] = []
        size, is_done = 0, start >= end
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_done:
            found = consumer.poll(POLL_SECONDS)
            refusals.check()
            if found is None and time.monotonic() < deadline:
                continue
            deadline = time.monotonic() + PATIENCE_SECONDS
            if found is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            if (error := found.error()) and error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error, "data may have been lost")
            if error:
                check_right(connection, error)
            if error and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            offset = found.offset() or 0
            if not error and offset < end:
                rows.append(found)
                size += len(found)
            is_done = offset >= (end if error else end - 1)
            if rows and (is_done or size >= BYTES_AT_ONCE or len(rows) >= RECORDS_AT_ONCE):
                yield pa.RecordBatch.from_pylist([_row(each) for each in rows], SCHEMA)
                rows, size = [], 0


def _row(message: Message) -> dict[str, object]:
    _, milliseconds = message.timestamp()
    headers = cast(list[tuple[str, bytes | None]] | None, message.headers())
    return {
        "key": message.key(),
        "value": message.value(),
        "headers": None if headers is None else [{"key": name, "value": value} for name, value in headers],
        "kafka_topic": message.topic(),
        "kafka_partition": message.partition(),
        "kafka_offset": message.offset(),
        "kafka_timestamp": within_years(milliseconds) * 1_000,
    }


def within_years(milliseconds: int) -> int:
    """A Kafka timestamp as tables have it, in milliseconds since the Unix epoch: the nearest of the years 1 to 9999."""
    first, last = RECORD_TIMES_MS
    return min(max(milliseconds, first), last)
