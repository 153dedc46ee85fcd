"""How much clients may ask: requests per second and open streams, of one client and of all."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from pipelines.api.problems import Problem
from pipelines.settings import Api

BURST_SECONDS = 3.0
CLIENTS_KNOWN = 50_000
"""Of more, those who asked longest ago are forgotten: they may ask as if for the first time."""


@dataclass
class Bucket:
    """Requests that may come at once; it fills at a rate. By a library it would be a lock and a timer a request."""

    tokens: float
    at: float

    def seconds_until_next(self, rate: float, now: float) -> float:
        """Takes a request out, and returns 0; or how long it is until there is one."""
        self.tokens = min(most_at_once(rate), self.tokens + (now - self.at) * rate)
        self.at = now
        if self.tokens < 1:
            return (1 - self.tokens) / rate
        self.tokens -= 1
        return 0.0


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


def most_at_once(rate: float) -> float:
    """How many requests may come at the same moment."""
    return max(1.0, rate * BURST_SECONDS)


def client_of(host: str) -> str:
    """Who counts as one: an address; of IPv6 the 64 bits that a provider gives to one customer."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
