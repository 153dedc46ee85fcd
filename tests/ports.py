"""TCP ports of the loopback interface, free and taken."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def listening() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def unused_ports() -> tuple[int, int]:
    """Two different ports that nobody used a moment ago."""
    with ExitStack() as both:
        first, second = both.enter_context(listening()), both.enter_context(listening())
    return first, second
