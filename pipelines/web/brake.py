"""How often something may happen: at once, and in the long run."""

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
