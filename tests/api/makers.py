"""Messages, topics and a service without a broker."""

import json
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from pipelines.api.app import Service, create_app
from pipelines.api.feed import Feed, Freshness
from pipelines.api.hub import Hub
from pipelines.api.limits import Limits
from pipelines.api.report import EXAMPLE, Entry, entry_of
from pipelines.api.store import Store
from pipelines.errors import PtsError
from pipelines.io.kafka.admin import TopicExtent
from pipelines.io.kafka.consumer import End, Message
from pipelines.settings import Api

TOPIC = "Yfk2sSlsTSmXEkuH3sRzkg"


def value(number: int = 42, stop: int | None = 9, end: int | None = 13, **members: Any) -> bytes:
    """A message as the job sends it."""
    report = EXAMPLE | {
        "trackingNumber": number,
        "numberOfRemainingStops": None if stop is None or end is None else end - stop,
        "currentStopId": stop,
        "endStopId": end,
    }
    del report["position"]
    return json.dumps(report | members).encode()


def message(offset: int, number: int = 42, partition: int = 0, **members: Any) -> Message:
    return Message(partition, offset, value(number, **members), str(number).encode())


def tombstone(offset: int, number: int = 42, partition: int = 0) -> Message:
    return Message(partition, offset, None, str(number).encode())


def entry(offset: int, number: int = 42, partition: int = 0, **members: Any) -> Entry:
    return entry_of(number, partition, offset, value(number, **members))


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class MemoryTopic:
    """A topic of two partitions; what is at an end is told, as by Kafka. A partition that is silent gives nothing."""

    def __init__(self, topic_id: str = TOPIC) -> None:
        self.topic_id = topic_id
        self.partitions: dict[int, list[Message]] = {0: [], 1: []}
        self.fault: PtsError | None = None
        self.silent: set[int] = set()
        self.asked_from: list[Mapping[int, int]] = []

    def add(self, *messages: Message) -> None:
        for each in messages:
            self.partitions[each.partition].append(each)

    def extent(self) -> TopicExtent:
        if self.fault:
            raise self.fault
        ends = {part: held[-1].offset + 1 if held else 0 for part, held in self.partitions.items()}
        return TopicExtent(self.topic_id, dict.fromkeys(self.partitions, 0), ends)

    def follow(self, starts: Mapping[int, int]) -> Generator[Sequence[Message | End]]:
        self.asked_from.append(dict(starts))
        reached = dict(starts)
        while True:
            batch: list[Message | End] = []
            for part, held in self.partitions.items():
                if part in self.silent:
                    continue
                new = [each for each in held if each.offset >= reached[part]]
                reached[part] = max([reached[part], *(each.offset + 1 for each in new)])
                batch += [*new, End(part, reached[part])]
            yield batch


class Stand:
    """A store that a topic feeds, and the service that asks it."""

    def __init__(self, store: Store, topic: MemoryTopic, **settings: Any) -> None:
        self.store, self.topic, self.clock, self.hub = store, topic, Clock(), Hub()
        self.freshness = Freshness(stale_seconds=30, clock=self.clock)
        self.feed = Feed(store, topic, self.freshness, self.hub.publish, self.clock)
        self.limits = Limits(Api(**settings), self.clock)
        self.wait_seconds = 0.05

    def read(self) -> None:
        """Reads the topic to its end, and ends."""
        stop = Rounds(3)
        self.feed.follow(stop)

    @property
    def service(self) -> Service:
        return Service(self.store.entry, self.freshness.why_not, self.hub, self.limits, self.wait_seconds)

    @property
    def app(self) -> FastAPI:
        return create_app(self.service)


class Rounds(threading.Event):
    """A stop that comes after so many looks."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._left = count

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@contextmanager
def stand(folder: Path, *messages: Message, **settings: Any) -> Iterator[Stand]:
    """A stand whose topic holds messages, read to the end."""
    store = Store(folder / "reports.sqlite")
    try:
        made = Stand(store, MemoryTopic(), **settings)
        made.topic.add(*messages)
        made.read()
        yield made
    finally:
        store.close()
