"""Messages of the log, read without a JVM and without a consumer group: a few, or all as they come."""

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka import Message as Polled

from pipelines.errors import BrokerUnavailable, LogTruncated
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import Refusals, check_protocol, check_right
from pipelines.io.kafka.standalone_consumer import standalone_consumer

if TYPE_CHECKING:  # it brings Spark
    from pipelines.io.kafka.log import Offsets

PATIENCE_SECONDS = 10.0
"""For the next message that the log is known to hold."""

POLL_SECONDS = 0.2
MESSAGES_AT_ONCE = 5_000
FOLLOWING = {
    "auto.offset.reset": "error",
    # Of what is fetched ahead, so much is kept; librdkafka's own 64 MiB are more than its reader may have in all.
    "queued.max.messages.kbytes": 8_192,
    "fetch.queue.backoff.ms": 20,
}


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


@dataclass(frozen=True)
class End:
    """Says that all of a partition is read that comes before the offset."""

    partition: int
    offset: int


def follow(connection: Connection, topic: str, starts: Mapping[int, int]) -> Generator[list[Message | End]]:
    """Committed messages of a topic from the offsets on, by partition, as they come and without an end: a list as soon
    as there is something, and an empty one when for a while there was nothing, which brokers that are away look like.

    Raises `AccessRefused`, `LogTruncated` when an offset is not held, and `BrokerUnavailable` for what else a broker
    says of a partition, as that there is none.
    """
    refusals = Refusals(connection)
    consumer = standalone_consumer(connection, refusals, "read_committed", FOLLOWING)
    with closing(consumer):
        consumer.assign([TopicPartition(topic, *place) for place in starts.items()])
        while True:
            first = consumer.poll(POLL_SECONDS)
            refusals.check()
            polled = [] if first is None else [first, *consumer.consume(MESSAGES_AT_ONCE, 0)]
            yield [_followed(connection, topic, each) for each in polled]


def _followed(connection: Connection, topic: str, polled: Polled) -> Message | End:
    error = polled.error()
    if error is None:
        return _message(polled)
    if error.code() == KafkaError._PARTITION_EOF:
        message = _message(polled)
        return End(message.partition, message.offset)
    check_right(connection, error)
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise LogTruncated(f"{topic} at {connection} does not hold what is to be read next: {error.str()}.")
    raise BrokerUnavailable(f"The broker at {connection} does not give out what {topic} holds: {error.str()}.")


def first_messages(connection: Connection, starts: "Offsets") -> dict[tuple[str, int], Message]:
    """The first message at an offset, or after it, by topic and partition; nothing where the log holds none.

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
    connection: Connection, starts: "Offsets", isolation_level: str
) -> Generator[tuple[str, int, Message | None]]:
    """Messages from the offsets on, with topic and partition; None where the end of a partition is reached."""
    refusals = Refusals(connection)
    consumer = standalone_consumer(connection, refusals, isolation_level)
    parts = [(topic, *place) for topic, partitions in starts.items() for place in partitions.items()]
    try:
        consumer.assign([TopicPartition(*part) for part in parts])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = consumer.poll(POLL_SECONDS)
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
            topic, message = found.topic(), _message(found)
            assert topic is not None
            yield topic, message.partition, None if error else message
    finally:
        consumer.close()


def _message(polled: Polled) -> Message:
    partition, offset = polled.partition(), polled.offset()
    assert partition is not None
    assert offset is not None
    _, timestamp_ms = polled.timestamp()
    return Message(partition, offset, polled.value(), polled.key(), timestamp_ms)
