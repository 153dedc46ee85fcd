"""Who waits for news, on the event loop: of one package, or of how far the topic was read."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pipelines.api.report import Entry


class Watcher:
    """One who waits for news of a package. Of several that come at once, the last is kept: memory has a bound."""

    def __init__(self) -> None:
        self._news: Entry | None = None
        self._is_woken = asyncio.Event()

    def wake(self, news: Entry | None = None) -> None:
        self._news = news or self._news
        self._is_woken.set()

    async def next(self, seconds: float) -> Entry | None:
        """The last of what came since it was asked before; None when there is none for so long, or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_woken.wait()
        self._is_woken.clear()
        news, self._news = self._news, None
        return news


class Hub:
    """Hands news of packages to those who wait. All of it belongs to the thread of the event loop."""

    def __init__(self) -> None:
        self.is_closed = False
        self.topic_id = ""
        self.positions: Mapping[int, int] = {}
        self._watchers: dict[int, set[Watcher]] = {}
        self._advanced = asyncio.Event()

    @contextmanager
    def watched(self, number: int) -> Iterator[Watcher]:
        """A watcher of a package, for as long as the block lasts."""
        watcher = Watcher()
        self._watchers.setdefault(number, set()).add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[number].discard(watcher)
            if not self._watchers[number]:
                del self._watchers[number]

    def publish(self, news: Mapping[int, Entry], topic_id: str, positions: Mapping[int, int]) -> None:
        """What is new in the store now, and up to which positions of which topic it was read."""
        self.topic_id, self.positions = topic_id, positions
        for number in news.keys() & self._watchers.keys():
            for watcher in self._watchers[number]:
                watcher.wake(news[number])
        advanced, self._advanced = self._advanced, asyncio.Event()
        advanced.set()

    async def advanced(self) -> None:
        """Returns when more of the topic was read, or at the end."""
        await self._advanced.wait()

    def close(self) -> None:
        """Wakes all, for the last time."""
        self.is_closed = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.wake()
        self._advanced.set()
