"""Queries that clients of the Thrift server have asked and not closed, and how long the server has worked at each."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from py4j.java_gateway import JavaObject


class OpenQuery:
    """A query and its clock, which runs from the statement to the end of the first fetch, and then in each fetch: while
    a client looks at what it has, nothing is done.

    Args:
        handle: Spark's name for it.
        session: The bytes that name its session.
        limit: How many seconds it may take; 0 is without end.
        began: When the statement came, by the monotonic clock.
    """

    def __init__(self, handle: JavaObject, session: bytes, limit: int, began: float) -> None:
        self.handle = handle
        self.session = session
        self.limit = limit
        self.cancelled = ""
        """Why it was; empty while it was not."""
        self.is_told = False
        """Whether it was told what became of it."""
        self.is_running = True
        self._seconds, self._since = 0.0, began

    @property
    def jobs(self) -> str:
        """How Spark calls the group of its jobs."""
        return str(UUID(bytes=guid(self.handle.getOperationId())))

    @property
    def seconds(self) -> float:
        """For how long the server has worked at it."""
        return self._seconds + (self._age if self.is_running else 0)

    @property
    def is_overdue(self) -> bool:
        """Whether that is longer than it may."""
        return 0 < self.limit <= self.seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """The block's time counts."""
        if not self.is_running:
            self.is_running, self._since = True, time.monotonic()
        try:
            yield
        finally:
            self._seconds += self._age
            self.is_running, self._since = False, time.monotonic()

    def is_idle(self, seconds: float) -> bool:
        """Whether its client has asked for no row for so long."""
        return not self.is_running and self._age > seconds

    @property
    def _age(self) -> float:
        return time.monotonic() - self._since


def shorter(setting: int, of_client: int) -> int:
    """The shorter of two limits in seconds, of which 0 is none."""
    return min((each for each in (setting, of_client) if each > 0), default=0)


def too_long(seconds: int, setting: int) -> str:
    """What a client is told whose query took longer than it may."""
    who = "PTS_SQL__QUERY_TIMEOUT_SECONDS" if seconds == setting else "its client"
    return f"The query took longer than {seconds} s, and was cancelled: {who} allows no more."


def guid(identifier: JavaObject) -> bytes:
    """The bytes of a name of an operation or a session."""
    return bytes(identifier.getGuid())
