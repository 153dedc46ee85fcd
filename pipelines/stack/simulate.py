"""Appends the simulated feed to the input topics, at a rate of wall-clock time."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Protocol

from pipelines.commands import Simulate
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import TopicMismatch
from pipelines.io.kafka.admin import begin_offsets, end_offsets, records_between, topic_states
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer
from pipelines.live.topics import intake_topics
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.simulation.feed import Record, feed
from pipelines.simulation.pacing import slices


@dataclass(frozen=True)
class SimulateSummary:
    """What a run appended, all of it acknowledged by the brokers."""

    records: int
    events: int
    routes: int
    seconds: float
    records_per_second: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Log(Protocol):
    """Where the records go."""

    def append(self, records: list[Record]) -> None:
        """Hands records over, in order."""

    def flush(self) -> None:
        """Returns when all of them are acknowledged."""


def run(command: Simulate, settings: Settings) -> SimulateSummary:
    """Appends until the packages are through, the count or duration is reached, or SIGTERM or SIGINT asks to stop.

    In each of these cases all that was handed over is flushed, and the log holds a prefix of the feed. With `resume`
    the run leaves that prefix out: as many records as the input topics hold, or intake topics ever got, on the
    assumption that this is nothing but this feed.

    Raises:
        BrokerUnavailable: no broker answers, or one does not take a record.
        AccessRefused: the brokers do not let us in, or not write.
        TopicMismatch: a topic is missing.
        InvalidInput: the brokers refuse the timestamps, because `--start` is too late.
    """
    connection = Connection.of(settings, "simulator")
    names = [topic.name for topic in intake_topics(settings) or INPUT_TOPICS]
    existing = topic_states(connection, names)
    if missing := [name for name in names if name not in existing]:
        raise TopicMismatch(
            f"There is no topic {' and no '.join(missing)} at {connection}: create them with `pts topics`."
        )
    records = feed(
        command.seed,
        command.packages,
        command.start,
        settings.kafka.ship_events_format,
        settings.kafka.ship_routes_format,
    )
    with signals_ask_to_stop() as stop:
        if command.resume:
            _leave_out(_records_in(connection, names, settings.seal.enabled), records, stop)
        limited = islice(records, command.count)
        log = _Log(connection, names)
        return append_paced(limited, command.rate, command.duration_seconds, log, stop, command.count)


class _Log:
    """The topics to which producers write: the input topics, or in their order those from which is sealed."""

    def __init__(self, connection: Connection, names: Sequence[str]) -> None:
        self._into = dict(zip((topic.name for topic in INPUT_TOPICS), names, strict=True))
        self._producer = LogProducer(connection)

    def append(self, records: list[Record]) -> None:
        self._producer.append(record._replace(topic=self._into[record.topic]) for record in records)

    def flush(self) -> None:
        self._producer.flush()


def append_paced(
    records: Iterator[Record],
    rate: float,
    duration_seconds: float | None,
    log: Log,
    stop: threading.Event,
    count: int | None = None,
) -> SimulateSummary:
    """Appends the records slice by slice, flushes them, and counts them by topic. `count` are all, if that is known."""
    started = time.monotonic()
    counts: Counter[str] = Counter()
    with part("Appending records", count) as advance:
        for due in slices(records, rate, duration_seconds, stop.wait):
            log.append(due)
            counts.update([record.topic for record in due])
            advance(counts.total())
        log.flush()
    seconds = time.monotonic() - started
    return SimulateSummary(
        records=counts.total(),
        events=counts[SHIP_EVENTS.name],
        routes=counts[SHIP_ROUTES.name],
        seconds=seconds,
        records_per_second=counts.total() / seconds,
    )


def _records_in(connection: Connection, topics: list[str], are_intake: bool) -> int:
    """How many they hold. Intake topics delete their oldest: of those, how many they ever got."""
    end = end_offsets(connection, topics)
    return records_between({} if are_intake else begin_offsets(connection, topics), end)


def _leave_out(count: int, records: Iterator[Record], stop: threading.Event) -> None:
    """Takes the first records away before the clock of the pacing starts."""
    for _ in islice(records, count):
        if stop.is_set():
            return
