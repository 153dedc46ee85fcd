"""Reads the log back, record for record, with a plain consumer."""

import time
from collections.abc import Callable
from typing import cast

from confluent_kafka import Consumer, KafkaError, TopicPartition

from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import PLAINTEXT, Connection
from pipelines.kafka_security import Security
from tests.oracle.records import Header, LogRecord

INPUTS = ("ship-events", "ship-routes")
PATIENCE_SECONDS = 300.0


def read_log(
    bootstrap_servers: str,
    topics: tuple[str, ...] = INPUTS,
    is_wanted: Callable[[bytes | None], bool] = lambda _key: True,
    security: Security = PLAINTEXT,
) -> list[LogRecord]:
    """All records of the topics, from the first that is still held to the last that is there now; only those with a key
    that is wanted.
    """
    connection = Connection(bootstrap_servers, security)
    begin, end = begin_offsets(connection, topics), end_offsets(connection, topics)
    consumer = Consumer(
        {
            **connection.client_options(),
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,  # by its offsets, a compacted topic has fewer records than it seems
        }
    )
    consumer.assign(
        [TopicPartition(topic, number, offset) for topic in topics for number, offset in begin[topic].items()]
    )
    unread = {
        (topic, number) for topic in topics for number, offset in end[topic].items() if begin[topic][number] < offset
    }
    records: list[LogRecord] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while unread:
        assert time.monotonic() < deadline, f"{unread} were not read to their ends"
        for message in consumer.consume(10_000, timeout=0.5):
            topic, partition, offset, error = message.topic(), message.partition(), message.offset(), message.error()
            if topic is None or partition is None or offset is None:
                raise AssertionError(f"a message without a place: {error}")
            if error and error.code() == KafkaError._PARTITION_EOF:
                unread.discard((topic, partition))
                continue
            assert error is None, error
            if offset >= end[topic][partition] - 1:
                unread.discard((topic, partition))
            if not is_wanted(message.key()):
                continue
            headers = cast("list[Header] | None", message.headers())  # its type is that of what may be sent
            records.append(
                LogRecord(
                    topic,
                    partition,
                    offset,
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    None if headers is None else tuple(headers),
                )
            )
    consumer.close()
    return records
