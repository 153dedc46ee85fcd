"""Offsets of consumer groups, by a consumer that joins none: librdkafka's own commands for them end the process where
brokers stop answering (its issue 4605). This gives up.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import closing

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from pipelines.io.kafka.admin import POLL_SECONDS, TIMEOUT_SECONDS, once_decided, partitions_of, reaching
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import Refusals
from pipelines.io.kafka.standalone_consumer import standalone_consumer


def commit_group_offsets(connection: Connection, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
    """Sets the offsets of a consumer group without members: by topic and partition, that of the next record.

    Raises `AccessRefused` without the right to read with that group.
    """
    parts = [
        TopicPartition(topic, partition, offset)
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    ]
    answers: list[tuple[KafkaError | None, list[TopicPartition]]] = []
    refusals, deadline = Refusals(connection), time.monotonic() + TIMEOUT_SECONDS
    options = {
        "group.id": group,
        "on_commit": lambda *answer: answers.append(answer),
        "session.timeout.ms": int(TIMEOUT_SECONDS * 1000),  # so long it keeps a commit for a coordinator to come
    }
    with (
        reaching(connection),
        closing(standalone_consumer(connection, refusals, "read_committed", options)) as consumer,
    ):
        consumer.commit(offsets=parts)
        while not answers:
            message = consumer.poll(POLL_SECONDS)
            refusals.check()
            if message and (refusal := message.error()):
                raise KafkaException(refusal)
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        ((error, committed),) = answers
        for fault in (error, *(part.error for part in committed)):
            if fault:
                raise KafkaException(fault)


def group_offsets(connection: Connection, group: str, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """topic -> partition -> the offset from which a consumer group goes on, where it has begun.

    Raises `TopicMismatch` for a missing topic.
    """
    names = list(topics)
    options = {"group.id": group}
    with (
        reaching(connection) as client,
        closing(standalone_consumer(connection, Refusals(connection), "read_committed", options)) as consumer,
    ):
        parts = partitions_of(client, connection, names)

        def told() -> dict[str, dict[int, int]]:
            offsets: dict[str, dict[int, int]] = {name: {} for name in names}
            for part in consumer.committed(parts, timeout=TIMEOUT_SECONDS):
                if part.error:
                    raise KafkaException(part.error)
                if part.offset >= 0:
                    offsets[part.topic][part.partition] = part.offset
            return offsets

        return once_decided(told)
