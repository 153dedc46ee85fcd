"""Moves records from topics into others, each exactly once: records and how far was read, in one transaction.

Kafka's own pattern (KIP-447). A mover that dies leaves a transaction that the next one aborts, and nobody reads: it
goes on from what was committed. The next one also fences the one before it, should that still live.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from pipelines.contracts.judge import Message as Told
from pipelines.errors import AnotherWriter, BrokerUnavailable, LogTruncated, PtsError
from pipelines.io.kafka.admin import NO_ANSWER, begin_offsets, end_offsets, once_decided
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LARGEST_RECORD_BYTES, produce
from pipelines.io.kafka.refusals import Refusals, check_protocol, check_right
from pipelines.io.kafka.standalone_consumer import BYTES_AT_ONCE, standalone_consumer
from pipelines.processes.last_threads import call_in_thread

PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.2
SOCKET_SECONDS = 5.0
LOOK_SECONDS = 5.0
"""How often it asks, while nothing comes, whether brokers still let it in: one that wants TLS all at once looks like
one that is away, and of one that is away librdkafka may forget to try it again.
"""
RECORDS_AT_ONCE = 2_000
NAME = "pts-seal"
"""The consumer group and the transactional id."""

Change = Callable[[Sequence[tuple[str, Told]]], Sequence[Told]]
"""From records with the topic that they come from, what is to be written in their place, in the same order."""

FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}


class Mover:
    """Moves what topics hold, changed on the way. Headers stay behind.

    Each method raises `BrokerUnavailable`, `AccessRefused`, and `AnotherWriter` once another mover has begun.

    Args:
        connection: The cluster, and how one is let in.
        into: By the topic that is read, the one that is written.
        change: What becomes of the records.
    """

    def __init__(self, connection: Connection, into: Mapping[str, str], change: Change) -> None:
        self._connection = connection
        self._into = into
        self._change = change
        self._refusals = Refusals(connection)
        options: dict[str, Any] = {"group.id": NAME, "auto.offset.reset": "error"}
        self._consumer = standalone_consumer(connection, self._refusals, "read_committed", options)
        self._producer = Producer(
            {
                **connection.client_options(),
                "transactional.id": NAME,
                # By default, a call waits for a minute, and again, for the answer of brokers that are away.
                "socket.timeout.ms": int(SOCKET_SECONDS * 1000),
                "partitioner": "murmur2",
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "compression.type": "lz4",
                "error_cb": self._refusals.note,
                "log_level": 0,
            }
        )
        self._next: dict[tuple[str, int], int] = {}
        self._look_at = time.monotonic() + LOOK_SECONDS

    def close(self) -> None:
        self._consumer.close()

    def begin(self, skip_lost: bool = False) -> None:
        """Ends what another mover has left half done, and takes up where it was committed; where none has ever moved a
        record, with the first.

        Raises `LogTruncated` when records are gone that were not moved, unless they are to be skipped.
        """
        begin = begin_offsets(self._connection, self._into)
        self._answered(self._producer.init_transactions)
        parts = [TopicPartition(topic, partition) for topic in begin for partition in begin[topic]]
        committed = self._tried(lambda: once_decided(lambda: self._consumer.committed(parts, PATIENCE_SECONDS)))
        # Brokers forget what was committed, after a week in which nothing came. Then there are records in the topics
        # that are written.
        is_first = all(part.offset < 0 for part in committed) and not self._has_moved()
        for part in committed:
            first, moved = begin[part.topic][part.partition], 0 if is_first else part.offset
            if 0 <= moved < first and not skip_lost:
                raise LogTruncated(
                    f"{part.topic}/{part.partition} has deleted {first - moved:,} records that were not sealed "
                    "yet. `pts seal --skip-lost` goes on without them; PTS_SEAL__INTAKE_HOURS says how long they stay."
                )
            self._next[part.topic, part.partition] = max(moved, first)
        self._consumer.assign([TopicPartition(*part, offset) for part, offset in self._next.items()])

    def _has_moved(self) -> bool:
        """Whether the topics that are written have ever had a record."""
        ends = end_offsets(self._connection, self._into.values())
        return any(end for parts in ends.values() for end in parts.values())

    @property
    def positions(self) -> Mapping[tuple[str, int], int]:
        """By topic and partition, the offset up to which was moved."""
        return self._next

    def behind(self) -> int:
        """How many offsets of the topics were not moved yet."""
        ends = end_offsets(self._connection, self._into)
        return sum(max(0, ends[topic][partition] - offset) for (topic, partition), offset in self._next.items())

    def last_known_behind(self) -> dict[tuple[str, int], int]:
        """How many offsets were not moved yet, by topic and partition, as of what was last read: no broker is asked.
        Without partitions of which nothing was read yet.
        """
        found = {}
        for (topic, partition), offset in self._next.items():
            _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            if end >= 0:
                found[topic, partition] = max(0, end - offset)
        return found

    def move(self) -> int:
        """Moves what has come meanwhile, as far as it is taken at once; returns how many records that were.

        Raises `LogTruncated` when records are gone that are to be read next.
        """
        found: list[Message] = []
        ends = dict(self._next)
        for polled in self._polled():
            if error := polled.error():
                self._check(error)
            else:
                found.append(polled)
            topic, partition, offset = polled.topic(), polled.partition(), polled.offset()
            if topic is not None and partition is not None and offset is not None and offset >= 0:
                ends[topic, partition] = max(ends[topic, partition], offset + (not error))
        moved = [(str(each.topic()), _told(each)) for each in found]
        if moved or ends != self._next:  # the end of a producer's transaction is an offset, too
            self._write(moved, ends)
        else:
            self._look()
        self._next = ends
        return len(moved)

    def _polled(self) -> Iterator[Message]:
        """What comes within a moment, as far as it is taken at once: a record and its change, both are held."""
        size, until = 0, time.monotonic() + POLL_SECONDS
        for _ in range(RECORDS_AT_ONCE):
            polled = self._tried(lambda: self._consumer.poll(max(0.0, until - time.monotonic())))
            if polled is None:
                return
            yield polled
            if (size := size + len(polled)) >= BYTES_AT_ONCE:
                return

    def _write(self, moved: Sequence[tuple[str, Told]], ends: Mapping[tuple[str, int], int]) -> None:
        changed = self._change(moved)
        self._producer.begin_transaction()
        for (topic, _), told in zip(moved, changed, strict=True):
            self._produce(self._into[topic], told)
        offsets = [TopicPartition(*part, offset) for part, offset in ends.items()]
        group = self._consumer.consumer_group_metadata()
        self._answered(lambda seconds: self._producer.send_offsets_to_transaction(offsets, group, seconds))
        self._answered(self._producer.commit_transaction)

    def _produce(self, topic: str, told: Told) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS

        def wait() -> None:
            self._producer.poll(POLL_SECONDS)
            self._refusals.check()
            if time.monotonic() > deadline:
                raise BrokerUnavailable(f"The broker at {self._connection} takes no records.")

        try:
            produce(self._producer, topic, told.key, told.value, told.timestamp_ms or 0, wait)
        except KafkaException as error:
            raise self._failure(error.args[0]) from error

    def _answered(self, call: Callable[[float], object]) -> None:
        """Makes a call of the producer's that may be repeated until it is done. Meanwhile it is looked whether the
        producer was refused, of which the call says nothing; and it may not come back at all while brokers are away,
        whatever time it is given (librdkafka's issue 5456).
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        self._look_at = time.monotonic() + LOOK_SECONDS
        while True:
            answer = call_in_thread(lambda: call(PATIENCE_SECONDS))
            while not futures.wait([answer], POLL_SECONDS).done:
                self._check_refusals()
                self._look()
                if time.monotonic() > deadline:
                    raise self._failure(KafkaError(KafkaError._TIMED_OUT))
            try:
                answer.result()
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise self._failure(error.args[0]) from error
            self._check_refusals()

    def _look(self) -> None:
        """Asks brokers now and then. Raises `AccessRefused` where they do not let it in any more."""
        if time.monotonic() > self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            with suppress(BrokerUnavailable):  # they are waited for
                end_offsets(self._connection, self._into)

    def _check_refusals(self) -> None:
        """Raises `AccessRefused` once the producer was refused, which it tells when it is polled."""
        with suppress(KafkaException):  # one that is fenced; what failed with it, says so
            self._producer.poll(0)
        self._refusals.check()

    def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            done = call()
        except KafkaException as error:
            raise self._failure(error.args[0]) from error
        self._refusals.check()
        return done

    def _check(self, error: KafkaError) -> None:
        if error.code() != KafkaError._PARTITION_EOF:
            raise self._failure(error)

    def _failure(self, error: KafkaError) -> PtsError:
        self._check_refusals()
        check_right(self._connection, error)
        if error.code() in FENCED:
            return AnotherWriter(
                f"Another `pts seal` has begun at {self._connection}, and goes on in place of this one."
            )
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            return LogTruncated(
                f"An intake topic at {self._connection} deleted records before they were sealed ({error.str()}). "
                "`pts seal --skip-lost` goes on without them."
            )
        if error.code() in NO_ANSWER:
            check_protocol(self._connection)
        return BrokerUnavailable(
            f"The broker at {self._connection} did not take what was sealed ({error.str()}). Nothing of it counts: "
            "start `pts seal` again."
        )


def _told(polled: Message) -> Told:
    _, timestamp_ms = polled.timestamp()
    return Told(polled.value(), polled.key(), timestamp_ms)
