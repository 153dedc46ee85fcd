"""How much clients may ask: requests per second and open streams, of one client and of all."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.api.problems import Problem
from pipelines.settings import Api
from pipelines.web.brake import Bucket, client_of, most_at_once

CLIENTS_KNOWN = 50_000
"""Of more, those who asked longest ago are forgotten: they may ask as if for the first time."""


class Limits:
    """Counts requests and streams. All of it belongs to the thread of the event loop."""

    def __init__(self, settings: Api, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._all = Bucket(most_at_once(settings.requests_per_second), clock())
        self._clients: OrderedDict[str, Bucket] = OrderedDict()
        self._open: Counter[str] = Counter()

    def request(self, host: str) -> None:
        """Counts a request of a client. Raises `Problem` where it is one too many."""
        client, now, rate = client_of(host), self._clock(), self._settings.client_requests_per_second
        bucket = self._clients.pop(client, None) or Bucket(most_at_once(rate), now)
        self._clients[client] = bucket
        if len(self._clients) > CLIENTS_KNOWN:
            self._clients.popitem(last=False)
        if seconds := bucket.seconds_until_next(rate, now):
            raise Problem(429, "too-many-requests", "Too many requests", "This client asks too often.", seconds)
        if seconds := self._all.seconds_until_next(self._settings.requests_per_second, now):
            raise Problem(503, "overloaded", "Too many requests", "All clients together ask too often.", seconds)

    @contextmanager
    def stream(self, host: str) -> Iterator[None]:
        """Counts a stream of a client for as long as the block lasts. Raises `Problem` where it is one too many."""
        client = client_of(host)
        if self._open[client] >= self._settings.client_streams:
            raise Problem(429, "too-many-streams", "Too many streams", "This client has too many streams.", 30)
        if self._open.total() >= self._settings.streams:
            raise Problem(503, "overloaded", "Too many streams", "All clients together have too many streams.", 30)
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]
