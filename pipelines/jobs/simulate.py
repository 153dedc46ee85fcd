"""Appends the simulated feed to the real topics, at a rate of wall-clock time."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.commands import Simulate
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import BrokerUnavailable, InvalidInput, PtsError, TopicMismatch
from pipelines.settings import Settings
from pipelines.simulation.feed import feed
from pipelines.simulation.pacing import slices
from pipelines.simulation.record import Record

CONNECT_SECONDS = 5.0
DELIVERY_SECONDS = 30.0
"""How long a record may wait for its acknowledgement before the run fails."""


@dataclass(frozen=True)
class SimulateSummary:
    """What a run appended, all of it acknowledged by the brokers."""

    records: int
    events: int
    routes: int
    seconds: float
    records_per_second: float

    def __str__(self) -> str:
        return (
            f"Appended {self.records:,} records ({self.events:,} to {SHIP_EVENTS.name}, {self.routes:,} to "
            f"{SHIP_ROUTES.name}) in {self.seconds:.1f} s: {self.records_per_second:,.0f} records/s."
        )


class Appender(Protocol):
    """Where records go."""

    def append(self, records: list[Record]) -> None:
        """Hands records over, in order."""

    def flush(self) -> None:
        """Returns when all of them are acknowledged."""


def run(command: Simulate, settings: Settings) -> SimulateSummary:
    """Appends until the packages are through, the count or duration is reached, or SIGTERM or SIGINT asks to stop.

    What was handed over is flushed in every case, so the log always holds a prefix of the feed.

    Raises:
        BrokerUnavailable: no broker answers, or one does not acknowledge a record.
        TopicMismatch: a topic is missing.
        InvalidInput: the brokers refuse the timestamps, because `--start` is too late.
    """
    records = feed(
        command.seed,
        command.packages,
        command.start,
        settings.kafka.ship_events_format,
        settings.kafka.ship_routes_format,
    )
    producer = LogProducer(settings.bootstrap_servers)
    with _stopping_on_signals() as stop:
        return append_feed(islice(records, command.count), command.rate, command.duration_seconds, producer, stop)


def append_feed(
    records: Iterator[Record],
    rate: float,
    duration_seconds: float | None,
    log: Appender,
    stop: threading.Event,
) -> SimulateSummary:
    """Appends the records slice by slice, and counts them by topic."""
    started = time.monotonic()
    counts: Counter[str] = Counter()
    for part in slices(records, rate, duration_seconds, stop.wait):
        log.append(part)
        counts.update([record.topic for record in part])
    log.flush()
    seconds = time.monotonic() - started
    return SimulateSummary(
        records=counts.total(),
        events=counts[SHIP_EVENTS.name],
        routes=counts[SHIP_ROUTES.name],
        seconds=seconds,
        records_per_second=counts.total() / seconds if seconds else 0.0,
    )


class LogProducer:
    """An idempotent producer of both topics that fails loudly.

    Raises `BrokerUnavailable` or `TopicMismatch` when it is made, and `BrokerUnavailable` or `InvalidInput` from `append` or
    `flush` once a record was refused or not acknowledged in time.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._error: KafkaError | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                # Java's default partitioner, so that a package's records from any producer share a partition. Unlike
                # murmur2_random it gives records without a key one partition too: the same at every run.
                "partitioner": "murmur2",
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 50,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 200_000,
                "queue.buffering.max.kbytes": 128 * 1024,
                "message.timeout.ms": int(DELIVERY_SECONDS * 1000),
                "delivery.report.only.error": True,
                "on_delivery": self._on_delivery,
                "error_cb": _ignore,  # a connection that is lost shows as a delivery error, if it does not come back
                "log_level": 0,
            }
        )
        self._check_topics()

    def append(self, records: list[Record]) -> None:
        """Hands records to the producer, in order; waits while its queue is full."""
        produce = self._producer.produce
        for topic, key, value, timestamp_ms in records:
            while True:
                try:
                    produce(topic, value, key, timestamp=timestamp_ms)
                    break
                except BufferError:
                    self._poll(0.05)
        self._poll(0)

    def flush(self) -> None:
        """Returns when every record is acknowledged."""
        waiting = self._producer.flush(DELIVERY_SECONDS)
        self._poll(0)
        if waiting:
            raise BrokerUnavailable(f"The broker at {self._servers} did not acknowledge {waiting:,} records in time.")

    def _check_topics(self) -> None:
        try:
            existing = self._producer.list_topics(timeout=CONNECT_SECONDS).topics
        except KafkaException as error:
            raise BrokerUnavailable(
                f"No Kafka broker answers at {self._servers}: start one with `pts up broker`, or set "
                "PTS_KAFKA__BOOTSTRAP_SERVERS to where it is."
            ) from error
        missing = [topic.name for topic in INPUT_TOPICS if topic.name not in existing]
        if missing:
            raise TopicMismatch(f"No topic {' and '.join(missing)} at {self._servers}: create them with `pts topics`.")

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        self._error = self._error or error

    def _poll(self, seconds: float) -> None:
        self._producer.poll(seconds)
        if self._error:
            raise self._failure(self._error)

    def _failure(self, error: KafkaError) -> PtsError:
        if error.code() == KafkaError.INVALID_TIMESTAMP:
            return InvalidInput(
                "The broker refuses timestamps more than an hour in the future, and the feed reaches them: "
                "choose a --start at least six weeks ago."
            )
        return BrokerUnavailable(f"The broker at {self._servers} did not acknowledge a record: {error.str()}.")


def _ignore(_error: KafkaError) -> None:
    """Keeps librdkafka from writing the event to stderr."""


@contextmanager
def _stopping_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets, as long as the context lasts."""
    stop = threading.Event()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
