"""Reads the log back, record for record, with a plain consumer."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, TopicPartition

from pipelines.io.kafka_admin import begin_offsets, end_offsets
from tests.oracle.records import LogRecord

INPUTS = ("ship-events", "ship-routes")
PATIENCE_SECONDS = 300.0


def read_log(
    bootstrap_servers: str,
    topics: tuple[str, ...] = INPUTS,
    is_wanted: Callable[[bytes | None], bool] = lambda _key: True,
) -> list[LogRecord]:
    """All records of the topics, from the first that is still held to the last that is there now; only those with a key
    that is wanted.
    """
    begin, end = begin_offsets(bootstrap_servers, topics), end_offsets(bootstrap_servers, topics)
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign(
        [TopicPartition(topic, number, offset) for topic in topics for number, offset in begin[topic].items()]
    )
    missing = sum(offset - begin[topic][number] for topic in topics for number, offset in end[topic].items())
    records: list[LogRecord] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while missing > 0:
        assert time.monotonic() < deadline, f"{missing} records did not come"
        messages = consumer.consume(10_000, timeout=0.5)
        missing -= len(messages)
        for message in messages:
            assert message.error() is None, message.error()
            if not is_wanted(message.key()):
                continue
            headers = message.headers()
            records.append(
                LogRecord(
                    message.topic(),
                    message.partition(),
                    message.offset(),
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    None if headers is None else tuple(headers),
                )
            )
    consumer.close()
    return records
