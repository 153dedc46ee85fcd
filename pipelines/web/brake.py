"""How often something may happen: at once, and in the long run."""

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

BURST_SECONDS = 3.0


@dataclass
class Bucket:
    """Tokens that may be taken at once; it fills at a rate. By a library it would be a lock and a timer a request."""

    tokens: float
    at: float

    def seconds_until_next(self, rate: float, now: float, most: float | None = None) -> float:
        """Takes a token out, and returns 0; or how long it is until there is one.

        Args:
            rate: Tokens per second.
            now: Seconds of the clock by which `at` is.
            most: How many it holds; those of `BURST_SECONDS` where it is not said.
        """
        self.tokens = min(most_at_once(rate) if most is None else most, self.tokens + (now - self.at) * rate)
        self.at = now
        if self.tokens < 1:
            return (1 - self.tokens) / rate
        self.tokens -= 1
        return 0.0


class Brake:
    """A bucket for each client. Of more than `most_clients`, those who asked longest ago are forgotten: they may ask as
    if for the first time.

    Args:
        rate: Tokens per second, of each.
        most_clients: How many are known.
        most: How many tokens a bucket holds; those of `BURST_SECONDS` where it is not said.
    """

    def __init__(self, rate: float, most_clients: int, most: float | None = None) -> None:
        self._rate = rate
        self._most_clients = most_clients
        self._most = most_at_once(rate) if most is None else most
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def seconds_until_next(self, client: str, now: float) -> float:
        """Takes a token of the client's, and returns 0; or how long it is until there is one."""
        bucket = self._buckets.setdefault(client, Bucket(self._most, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > self._most_clients:
            self._buckets.popitem(last=False)
        return bucket.seconds_until_next(self._rate, now, self._most)

    def give_back(self, client: str) -> None:
        """Puts the token back that the client just took."""
        self._buckets[client].tokens += 1


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
