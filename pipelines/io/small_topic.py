"""A topic of few messages, read whole, without a JVM and without a consumer group."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka_admin import begin_offsets, end_offsets

PATIENCE_SECONDS = 10.0
"""For the next message that the topic is known to hold."""


@dataclass(frozen=True)
class Message:
    """One record."""

    partition: int
    offset: int
    value: bytes | None


def messages(bootstrap_servers: str, topic: str) -> Iterator[Message]:
    """All that the topic holds now, in the order of each partition.

    Raises `BrokerUnavailable` when no broker answers, or does not go on answering.
    """
    begin, end = (edge(bootstrap_servers, [topic])[topic] for edge in (begin_offsets, end_offsets))
    left = {partition for partition in end if begin[partition] < end[partition]}
    if not left:
        return
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers, "group.id": "none", "enable.auto.commit": False, "log_level": 0,
            "enable.partition.eof": True,  # the last offset may be a transaction's end, which is no message
        }
    )  # fmt: skip
    try:
        consumer.assign([TopicPartition(topic, partition, begin[partition]) for partition in left])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left:
            found = consumer.poll(0.2)
            error = found.error() if found is not None else None
            if found is not None and error and error.code() == KafkaError._PARTITION_EOF:
                left.discard(found.partition())
                continue
            if found is None or error:
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(f"The broker at {bootstrap_servers} does not give out what {topic} holds.")
                continue
            deadline = time.monotonic() + PATIENCE_SECONDS
            partition, offset = found.partition(), found.offset()
            assert partition is not None
            assert offset is not None
            if partition in left and offset < end[partition]:
                yield Message(partition, offset, found.value())
            if offset >= end[partition] - 1:
                left.discard(partition)
    finally:
        consumer.close()
