"""A few messages of the log, read without a JVM and without a consumer group."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import GROUP, Connection
from pipelines.io.kafka.log import Offsets
from pipelines.io.kafka.refusals import Refusals, check_protocol, check_right

PATIENCE_SECONDS = 10.0
"""For the next message that the log is known to hold."""


@dataclass(frozen=True)
class Message:
    """One record. `timestamp_ms` counts from the Unix epoch."""

    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0


def messages(connection: Connection, topic: str) -> Iterator[Message]:
    """All that the topic holds now, in the order of each partition.

    Raises `BrokerUnavailable` when no broker answers, or does not go on answering, and `AccessRefused`.
    """
    begin, end = (edge(connection, [topic])[topic] for edge in (begin_offsets, end_offsets))
    starts = {partition: begin[partition] for partition in end if begin[partition] < end[partition]}
    left = set(starts)
    with closing(_polled(connection, {topic: starts}, "read_committed")) as polled:
        while left:
            _, partition, message = next(polled)
            if message and partition in left and message.offset < end[partition]:
                yield message
            # The last offset may be a transaction's end, which is no message.
            if message is None or message.offset >= end[partition] - 1:
                left.discard(partition)


def first_messages(connection: Connection, starts: Offsets) -> dict[tuple[str, int], Message]:
    """By topic and partition: the first message at an offset that the log holds, or after it; nothing where none is.

    Raises `BrokerUnavailable` as `messages`. Records of aborted transactions count: an old lake has some.
    """
    left = {(topic, partition) for topic, partitions in starts.items() for partition in partitions}
    found: dict[tuple[str, int], Message] = {}
    with closing(_polled(connection, starts, "read_uncommitted")) as polled:
        while left:
            topic, partition, message = next(polled)
            if message and (topic, partition) in left:
                found[topic, partition] = message
            left.discard((topic, partition))
    return found


def _polled(
    connection: Connection, starts: Offsets, isolation_level: str
) -> Generator[tuple[str, int, Message | None]]:
    """Messages from the offsets on, with topic and partition; None where the end of a partition is reached."""
    refusals = Refusals(connection)
    consumer = Consumer(
        {
            **connection.client_options(),
            "group.id": GROUP,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
            "error_cb": refusals.note,
            "log_level": 0,
        }
    )
    parts = [(topic, *place) for topic, partitions in starts.items() for place in partitions.items()]
    try:
        consumer.assign([TopicPartition(*part) for part in parts])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = consumer.poll(0.2)
            refusals.check()
            error = found.error() if found is not None else None
            if error:
                check_right(connection, error)
            if found is None or (error and error.code() != KafkaError._PARTITION_EOF):
                if time.monotonic() > deadline:
                    check_protocol(connection)
                    topics = ", ".join(starts)
                    raise BrokerUnavailable(f"The broker at {connection} does not give out what {topics} holds.")
                continue
            deadline = time.monotonic() + PATIENCE_SECONDS
            topic, partition, offset = found.topic(), found.partition(), found.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            _, timestamp_ms = found.timestamp()
            message = Message(partition, offset, found.value(), found.key(), timestamp_ms)
            yield topic, partition, None if error else message
    finally:
        consumer.close()
