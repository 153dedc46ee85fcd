"""TCP ports of the loopback interface, free and taken."""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.processes.ports import why_unusable

BELOW_EPHEMERAL = range(20_000, 32_768)
"""No system hands these out by itself: Linux does so from 32768 on, macOS and the IANA from 49152 on."""

_given: set[int] = set()
"""No port is given twice: who got it first may not have bound it yet."""


@contextmanager
def listening() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def unused_ports() -> tuple[int, int]:
    """Two different ports on which nobody listens, and which no connection takes before a service binds them, nor
    another test: of two workers of pytest-xdist, each has its half of them.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    mine = BELOW_EPHEMERAL[int(worker) % 2 :: 2] if worker else BELOW_EPHEMERAL
    ports = random.SystemRandom().sample(mine, len(mine))
    unused = (port for port in ports if port not in _given and why_unusable(port) is None)
    found = next(unused), next(unused)
    _given.update(found)
    return found
