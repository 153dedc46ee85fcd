"""How much clients may ask: requests per second and open streams, of one client and of all."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.api.problems import Problem
from pipelines.settings import Api
from pipelines.web.brake import Brake, Bucket, client_of, most_at_once

CLIENTS_KNOWN = 50_000


class Limits:
    """Counts requests and streams. All of it belongs to the thread of the event loop."""

    def __init__(self, settings: Api, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._all = Bucket(most_at_once(settings.requests_per_second), clock())
        self._clients = Brake(settings.client_requests_per_second, CLIENTS_KNOWN)
        self._open: Counter[str] = Counter()
        self.streams = 0
        """How many are open, of all clients together."""

    def request(self, host: str) -> None:
        """Counts a request of a client. Raises `Problem` where it is one too many."""
        now = self._clock()
        if seconds := self._clients.seconds_until_next(client_of(host), now):
            raise Problem(429, "too-many-requests", "Too many requests", "This client asks too often.", seconds)
        if seconds := self._all.seconds_until_next(self._settings.requests_per_second, now):
            raise Problem(503, "overloaded", "Too many requests", "All clients together ask too often.", seconds)

    @contextmanager
    def stream(self, host: str) -> Iterator[None]:
        """Counts a stream of a client for as long as the block lasts. Raises `Problem` where it is one too many."""
        client = client_of(host)
        if self._open[client] >= self._settings.client_streams:
            raise Problem(429, "too-many-streams", "Too many streams", "This client has too many streams.", 30)
        if self.streams >= self._settings.streams:
            raise Problem(503, "overloaded", "Too many streams", "All clients together have too many streams.", 30)
        self._open[client] += 1
        self.streams += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            self.streams -= 1
            if not self._open[client]:
                del self._open[client]
