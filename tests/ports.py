"""TCP ports of the loopback interface, free and taken."""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

BELOW_EPHEMERAL = range(20_000, 32_768)
"""No system hands these out by itself: Linux does so from 32768 on, macOS and the IANA from 49152 on."""


@contextmanager
def listening() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def unused_ports() -> tuple[int, int]:
    """Two different ports on which nobody listens, and which no connection takes before a service binds them."""
    ports = iter(random.SystemRandom().sample(BELOW_EPHEMERAL, len(BELOW_EPHEMERAL)))
    unused = (port for port in ports if _can_be_bound(port))
    return next(unused), next(unused)


def _can_be_bound(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
