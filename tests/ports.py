"""TCP ports of the loopback interface, free and taken."""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.processes.ports import why_unusable

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
    ports = random.SystemRandom().sample(BELOW_EPHEMERAL, len(BELOW_EPHEMERAL))
    unused = (port for port in ports if why_unusable(port) is None)
    return next(unused), next(unused)
