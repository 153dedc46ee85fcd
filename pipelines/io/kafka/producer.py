"""Appends records to the log from plain Python, without a JVM."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.errors import BrokerUnavailable, InvalidInput, PtsError
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import Refusals, check_protocol, check_right

DELIVERY_SECONDS = 30.0
"""How long a record may wait for its acknowledgement: a broker's restart is survived, its loss is told soon."""

FULL_QUEUE_WAIT_SECONDS = 0.05

FLUSH_SECONDS = 0.2
"""How often it is asked, while records wait, whether they were refused."""

LARGEST_RECORD_BYTES = 16_000_000
"""A little less than the embedded broker takes (`message.max.bytes` in infra/kafka/server.properties)."""

REFUSED = {KafkaError.INVALID_RECORD, KafkaError.INVALID_TIMESTAMP, KafkaError._INVALID_DIFFERENT_RECORD}
"""How a broker answers for each record of a batch in which `message.timestamp.after.max.ms` excludes a timestamp."""

CHANGED = {KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError._DESTROY}
"""How librdkafka answers for a topic that was recreated, with fewer partitions, since it looked: the last one for
records that it had put into a partition just before it learned that this is no more.
"""


def produce(
    producer: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    timestamp_ms: int,
    when_full: Callable[[], None],
) -> None:
    """Puts a record into the producer's queue; each time that it is full, `when_full` waits a while, or raises."""
    while True:
        try:
            return producer.produce(topic, value, key, timestamp=timestamp_ms)
        except BufferError:
            when_full()


class TopicChanged(BrokerUnavailable):
    """A topic is not what it was when the producer looked: a new one sees it as it is."""


class LogProducer:
    """A producer that fails loudly: after `flush`, every record is acknowledged by all replicas.

    `append` and `flush` raise `InvalidInput`, `AccessRefused` or `BrokerUnavailable` once a record is refused, or not
    taken in time.

    Args:
        connection: The cluster, and how one is let in.
        is_idempotent: Every record is on the log once, in order, whatever is lost on the way. Otherwise at least once;
            that spares a producer of few records the half second in which it asks for an identity.
        linger_ms: How long a record waits for others to go with it.
    """

    def __init__(self, connection: Connection, is_idempotent: bool = True, linger_ms: int = 50) -> None:
        self._connection = connection
        self._refusals = Refusals(connection)
        self._error: KafkaError | None = None
        self._producer = Producer(
            {
                **connection.client_options(),
                # The partitioner of Java's producers, so that a package's records share a partition whoever sends them.
                # Unlike `murmur2_random`, it has one partition for records without a key too: the same at every run.
                "partitioner": "murmur2",
                "enable.idempotence": is_idempotent,
                "acks": "all",
                "linger.ms": linger_ms,
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 200_000,
                "queue.buffering.max.kbytes": 128 * 1024,
                "message.timeout.ms": int(DELIVERY_SECONDS * 1000),
                "delivery.report.only.error": True,
                "on_delivery": self._on_delivery,
                # A connection that is lost and does not come back shows as a delivery error; until then, silence, but
                # for one that is refused.
                "error_cb": self._refusals.note,
                "log_level": 0,
            }
        )

    def append(self, records: Iterable[tuple[str, bytes | None, bytes | None, int]]) -> None:
        """Hands (topic, key, value, timestamp in ms) over, in order; waits while the queue is full."""
        try:
            for topic, key, value, timestamp_ms in records:
                produce(self._producer, topic, key, value, timestamp_ms, lambda: self._poll(FULL_QUEUE_WAIT_SECONDS))
        except KafkaException as error:
            raise self._failure(error.args[0]) from error
        self._poll(0)

    def flush(self) -> None:
        """Returns when every record is acknowledged."""
        deadline = time.monotonic() + DELIVERY_SECONDS
        while waiting := self._producer.flush(FLUSH_SECONDS):
            self._poll(0)
            if time.monotonic() > deadline:
                check_protocol(self._connection)
                raise BrokerUnavailable(
                    f"The broker at {self._connection} did not acknowledge {waiting:,} records in time."
                )
        self._poll(0)

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        self._error = self._error or error

    def _poll(self, seconds: float) -> None:
        self._producer.poll(seconds)
        self._refusals.check()
        if self._error:
            raise self._failure(self._error)

    def _failure(self, error: KafkaError) -> PtsError:
        check_right(self._connection, error)
        if error.code() in REFUSED:
            return InvalidInput(
                f"The broker at {self._connection} refuses timestamps that are more than an hour ahead of its clock: "
                "begin at an earlier time, six weeks ago for a whole feed."
            )
        if error.code() not in CHANGED:
            check_protocol(self._connection)
        kind = TopicChanged if error.code() in CHANGED else BrokerUnavailable
        return kind(
            f"The broker at {self._connection} did not take a record ({error.str()}): is it running, with room on disk?"
        )


@contextmanager
def kept_producer(connection: Connection) -> Iterator[LogProducer]:
    """The process's producer for what is to arrive soon, at least once; it is forgotten when it fails, and when it was
    refused since it was last used: whether that still holds, a new one tells.
    """
    try:
        shared_producer(connection).flush()
    except PtsError:
        shared_producer.cache_clear()
    try:
        yield shared_producer(connection)
    except PtsError:
        shared_producer.cache_clear()
        raise


@cache
def shared_producer(connection: Connection) -> LogProducer:
    """The process's producer to these brokers."""
    return LogProducer(connection, is_idempotent=False, linger_ms=0)
