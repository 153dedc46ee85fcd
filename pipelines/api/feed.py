"""From the topic package-reports into the store, in a thread of its own.

What the log says last of a package is its report, also where that goes back: a correction of history looks like a
repeat of an old message, and is none.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Protocol

from pipelines.api.report import Entry, entry_of, number_of
from pipelines.api.store import Store
from pipelines.contracts.topics import PACKAGE_REPORTS
from pipelines.errors import AccessRefused, ApiUnavailable, PtsError, warn
from pipelines.io.kafka.admin import TopicExtent, extent
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import End, Message, follow

Publish = Callable[[Mapping[int, Entry], str, Mapping[int, int]], None]
"""Takes what is new by tracking number, the topic's id, and up to which offset of each partition it was read."""

CHECK_SECONDS = 5.0
"""How often the broker is asked for the topic's ends, and whether it is still the same one."""
PAUSE_SECONDS = 1.0


class Source(Protocol):
    """Where reports come from."""

    def extent(self) -> TopicExtent:
        """The topic as it is now. Raises `PtsError`."""

    def follow(self, starts: Mapping[int, int]) -> Generator[Sequence[Message | End]]:
        """Messages from these offsets on; now and then nothing. Raises `PtsError`."""


class KafkaSource:
    """The topic on its brokers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def extent(self) -> TopicExtent:
        return extent(self._connection, PACKAGE_REPORTS.name)

    def follow(self, starts: Mapping[int, int]) -> Generator[Sequence[Message | End]]:
        return follow(self._connection, PACKAGE_REPORTS.name, starts)


class Freshness:
    """Whether the store can be vouched for: at some moment, at most so many seconds ago, it held all of the topic.

    One thread writes, others read.
    """

    def __init__(self, stale_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stale_seconds = stale_seconds
        self._clock = clock
        self._whole_at: float | None = None
        self._fault: PtsError | None = None

    def whole(self, at: float) -> None:
        """The store holds all that the topic held at a moment of the clock."""
        self._whole_at, self._fault = at, None

    def failed(self, fault: PtsError) -> bool:
        """Reading has failed; it is tried again. Returns whether that is news."""
        is_news = str(fault) != str(self._fault)
        self._fault = fault
        return is_news

    def lost(self) -> None:
        """The store begins again."""
        self._whole_at = None

    def why_not(self) -> str | None:
        """Why nobody can vouch for the store; None where that can be done."""
        if isinstance(self._fault, AccessRefused):
            return "The brokers refuse this service."
        if self._whole_at is None:
            return "The reports are being read from the log."
        if self._clock() - self._whole_at > self._stale_seconds:
            return "The log has not been read to its end for too long."
        return None


class Feed:
    """Keeps a store as the topic is, until it is stopped.

    Args:
        store: What is kept.
        source: The topic.
        freshness: Is told how far that is.
        publish: Is told what has changed, once it is in the store.
        clock: Seconds.

    Attributes:
        source, publish: These two, which others may replace between two runs.
        failure: Why the store cannot go on; None while it can.
    """

    def __init__(
        self,
        store: Store,
        source: Source,
        freshness: Freshness,
        publish: Publish,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self.source = source
        self._freshness = freshness
        self.publish = publish
        self._clock = clock
        self.failure: BaseException | None = None

    def run(self, stop: threading.Event) -> None:
        """Follows the topic; when that fails, again after a pause. Ends with `failure` when the store cannot go on."""
        try:
            while not stop.is_set():
                try:
                    self.follow(stop)
                except PtsError as fault:
                    if self._freshness.failed(fault):
                        warn(str(fault))
                    stop.wait(PAUSE_SECONDS)
        except sqlite3.Error as error:
            self.failure = ApiUnavailable(
                f"The API's store cannot be used: {error}. Make room, or delete the folder: it is filled again from "
                f"{PACKAGE_REPORTS.name}."
            )
        except BaseException as defect:
            self.failure = defect

    def follow(self, stop: threading.Event) -> None:
        """Follows the topic until the stop, or until it is another one. Raises `PtsError`, and `sqlite3.Error`."""
        asked_at, topic = self._clock(), self.source.extent()
        self._take_up(topic)
        positions = self._store.positions()
        self.publish({}, topic.topic_id, positions)
        ends: Mapping[int, int] | None = topic.end
        with closing(self.source.follow(positions)) as batches:
            while not stop.is_set():
                if ends is not None and all(positions[part] >= end for part, end in ends.items()):
                    self._freshness.whole(asked_at)
                    ends = None
                if self._clock() - asked_at >= CHECK_SECONDS:
                    asked_at, topic = self._clock(), self.source.extent()
                    if not self._is_same(topic):
                        return
                    ends = topic.end
                    continue
                positions = self._apply(next(batches), topic.topic_id, positions)

    def _is_same(self, topic: TopicExtent) -> bool:
        """Whether the store is of this topic, and no further than it."""
        positions = self._store.positions()
        return (
            self._store.topic_id() == topic.topic_id
            and positions.keys() == topic.end.keys()
            and all(topic.begin[part] <= offset <= topic.end[part] for part, offset in positions.items())
        )

    def _take_up(self, topic: TopicExtent) -> None:
        if not self._is_same(topic):
            self._freshness.lost()
            self._store.begin(topic.topic_id, topic.begin)

    def _apply(self, batch: Sequence[Message | End], topic_id: str, positions: dict[int, int]) -> dict[int, int]:
        entries: dict[int, Entry] = {}
        reached = dict(positions)
        for each in batch:
            if isinstance(each, End):
                reached[each.partition] = max(reached[each.partition], each.offset)
                continue
            reached[each.partition] = each.offset + 1
            number = number_of(each.key)
            entry = entry_of(number or 0, each.partition, each.offset, each.value)
            if number is None or entry.kind == "unreadable":
                warn(f"{PACKAGE_REPORTS.name}/{each.partition}@{each.offset} is no report.")
            if number is not None:
                entries[number] = entry
        if reached != positions:
            self.publish(self._store.apply(entries, reached), topic_id, reached)
        return reached
