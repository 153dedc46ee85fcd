"""Ranges of the log, and the frames that read or extend it."""

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.contracts.rules import RECORD_TIMES_MS
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import TopicChanged, kept_producer
from pipelines.io.kafka.record_tasks import records_by_tasks
from pipelines.prepared_query import PreparedQuery

Offsets = dict[str, dict[int, int]]
"""topic -> partition -> offset, as Spark's Kafka source writes them in JSON (there, partitions are strings)."""

SOURCE = "org.apache.spark.sql.kafka010.QuietKafkaProvider"
"""Spark's source of Kafka, which rests where nothing comes (`infra/java/QuietKafka.scala`)."""

COMMITTED = {"kafka.isolation.level": "read_committed"}
"""What a producer took back in an aborted transaction is no record, and what may still be taken back is none yet: a log
ends before the first transaction that is open. The offsets of both, and of a transaction's markers, are gaps."""

CONSUMER = {
    # Fewer and larger polls than by default (500): Spark asks for the ends of the log after each.
    "kafka.max.poll.records": "5000",
    # Compressed, as they are on the log: of texts that repeat themselves, a fetch of 1 MiB (the default) was 200 MB.
    "kafka.max.partition.fetch.bytes": "131072",
    # At the end of the log a consumer has already asked for more. The broker keeps that question for 500 ms, by
    # default, and answers no other one meanwhile: Spark's, after every poll, for the ends of the log.
    "kafka.fetch.max.wait.ms": "5",
}


SAME_CALENDAR_MS = -12_219_292_800_000
"""1582-10-15. Of an earlier time, Spark's source takes the Julian date, which Java's old calendar tells, for the
Gregorian one: some days off, and 29 February in years that have none."""

UNTOLD = "Spark cannot tell the time of a record"

MESSAGES_AT_ONCE = 10_000

FEW_RECORDS = 10_000
"""Up to here, one task is done before several have begun."""


@dataclass(frozen=True)
class OffsetRange:
    """The records of one partition at offsets `[start, end)`: the end is the offset of the next record."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Offsets in the range: at least the number of its records (aborted ones and markers take offsets, too)."""
        return self.end - self.start


def ranges_between(start: Offsets, end: Offsets) -> tuple[OffsetRange, ...]:
    """One range per partition of `end`; a partition that `start` lacks begins at 0."""
    return tuple(
        OffsetRange(topic, partition, start.get(topic, {}).get(partition, 0), offset)
        for topic, partitions in sorted(end.items())
        for partition, offset in sorted(partitions.items())
    )


def starts(ranges: Iterable[OffsetRange]) -> Offsets:
    return ends(replace(part, end=part.start) for part in ranges)


def ends(ranges: Iterable[OffsetRange]) -> Offsets:
    offsets: Offsets = {}
    for part in ranges:
        offsets.setdefault(part.topic, {})[part.partition] = part.end
    return offsets


def divided(ranges: Iterable[OffsetRange], at: Offsets) -> tuple[list[OffsetRange], list[OffsetRange]]:
    """The parts of the ranges before the offsets, and the parts from there on; none of them is empty."""
    before, after = [], []
    for part in ranges:
        edge = min(max(at.get(part.topic, {}).get(part.partition, 0), part.start), part.end)
        before.append(replace(part, end=edge))
        after.append(replace(part, start=edge))
    return [part for part in before if part.size], [part for part in after if part.size]


def within(ranges: Iterable[OffsetRange], prefix: str = "") -> str:
    """SQL: whether the Kafka coordinates of a row, of one topic, are in one of the ranges. The names of its columns may
    have something before them.
    """
    partition, offset = f"{prefix}kafka_partition", f"{prefix}kafka_offset"
    parts = (
        f"({partition} = {part.partition} AND {offset} >= {part.start} AND {offset} < {part.end})"
        for part in ranges
        if part.size
    )
    return " OR ".join(parts) or "false"


class RecordLog(Protocol):
    """Where batches read records, and where reports go."""

    def records(self, topic: str, ranges: Iterable[OffsetRange], by_spark: bool = True) -> DataFrame: ...

    def send(self, messages: pa.Table, topic: str) -> None: ...


class KafkaLog:
    """The topics of one cluster, seen from Spark.

    Args:
        spark: The session in which frames are read.
        connection: The cluster, and how one is let in.
        group: The `group.id` by which Spark knows the consumers that it keeps, with what they have fetched ahead, from
            one range to the next: one for each job. The brokers know of no such group, for nothing is committed to it.
    """

    def __init__(self, spark: SparkSession, connection: Connection, group: str | None = None) -> None:
        self._spark = spark
        self._connection = connection
        self._group = group or f"pts-{uuid.uuid4()}"

    def records(self, topic: str, ranges: Iterable[OffsetRange], by_spark: bool = True) -> DataFrame:
        """The records of the ranges: key, value, headers, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp.

        They are read by few tasks (`tasks_for`), those of a partition by one. An action fails when the log no longer
        holds all of them: none is skipped. It fails, too, where Spark cannot tell the time of a record: after an error
        that `is_of_a_time`, the ranges are to be read with `by_spark` false, which is slower, and whatever their times
        are.
        """
        wanted = [part for part in ranges if part.topic == topic and part.size]
        tasks = tasks_for(self._spark, wanted)
        if by_spark:
            return self._by_spark(wanted, tasks)
        return records_by_tasks(self._spark, self._connection, [astuple(part) for part in wanted]).coalesce(tasks)

    def _by_spark(self, wanted: Sequence[OffsetRange], tasks: int) -> DataFrame:
        ranges = getattr(self._spark._jvm, "org.apache.spark.sql.kafka010.KafkaRanges")
        options = self._connection.spark_options() | COMMITTED | CONSUMER
        first, last = offsets_json(starts(wanted)), offsets_json(ends(wanted))
        read = ranges.records(self._spark._jsparkSession, options, self._group, first, last, tasks)
        return RECORDS.over(DataFrame(read, self._spark))

    def stream(self, topics: Iterable[str], start: Offsets, max_records: int) -> DataFrame:
        """A streaming frame that plans micro-batches over the topics from `start` on, of at most `max_records` each."""
        return (
            self._spark.readStream.format(SOURCE)
            .options(
                **self._connection.spark_options(),
                **COMMITTED,
                failOnDataLoss="true",
                maxOffsetsPerTrigger=str(max_records),
            )
            .option("subscribe", ",".join(topics))
            .option("startingOffsets", offsets_json(start))
            .load()
        )

    def send(self, messages: pa.Table, topic: str) -> None:
        """Appends (key, value) to a topic, a null value as a tombstone; done when the brokers have acknowledged all.

        Every message arrives, some perhaps twice.
        """
        try:
            self._append(messages, topic)
        except TopicChanged:  # since the kept producer looked
            self._append(messages, topic)

    def _append(self, messages: pa.Table, topic: str) -> None:
        now = int(time.time() * 1000)
        with kept_producer(self._connection) as producer:
            for batch in messages.to_batches(max_chunksize=MESSAGES_AT_ONCE):
                producer.append(
                    (topic, key.encode(), None if value is None else value.encode(), now)
                    for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)
                )
            producer.flush()


def tasks_for(spark: SparkSession, ranges: Iterable[OffsetRange]) -> int:
    """How many tasks read the ranges at most: as many as a shuffle has, and one where there are few records."""
    is_small = sum(part.size for part in ranges) <= FEW_RECORDS
    return 1 if is_small else int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def is_of_a_time(error: Exception) -> bool:
    """Whether a frame of records may have failed at a time that Spark's source cannot tell, or not even count."""
    return any(text in str(error) for text in (UNTOLD, "ArithmeticException: long overflow"))


def _as_told(time: Column) -> Column:
    """The time that Spark's source gives, up to the last one that tables hold."""
    first, last = (F.timestamp_millis(F.lit(moment)) for moment in (SAME_CALENDAR_MS, RECORD_TIMES_MS[1]))
    return F.when(time < first, F.raise_error(UNTOLD)).otherwise(F.least(time, last))


def _records(read: DataFrame) -> DataFrame:
    """What Spark's source has read, by the names of the tables."""
    return read.select(
        "key",
        "value",
        "headers",
        F.col("topic").alias("kafka_topic"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
        _as_told(F.col("timestamp")).alias("kafka_timestamp"),
    )


RECORDS = PreparedQuery(_records)


def offsets_json(offsets: Offsets) -> str:
    """Offsets in the form that Spark's Kafka source reads and writes."""
    told = {topic: {str(number): offset for number, offset in parts.items()} for topic, parts in offsets.items()}
    return json.dumps(told, separators=(",", ":"), sort_keys=True)
