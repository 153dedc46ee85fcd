"""A server: its socket, its connections, and uvicorn, whose signals are the command's."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipelines.errors import PtsError
from pipelines.processes.signals import StopRequest

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 20
BACKLOG = 2_048

HEAD_SECONDS = 10.0
"""A client whose request has no end to its head for so long is let go; so is one that connects and says nothing."""

MOST_CONNECTIONS = 500


class Connection(HttpToolsProtocol):
    """A client's connection. One that is one too many is closed at once."""

    def __init__(self, *arguments: Any, most: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._most = most
        self._too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.close()
        self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._has_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_head()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._too_late is None:
            self._too_late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _has_head(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None


class Server(uvicorn.Server):
    """uvicorn, until it is asked to stop, with so many connections at most."""

    def __init__(
        self, app: ASGIApp, stop: StopRequest, trusted_proxies: str = "", most_connections: int = MOST_CONNECTIONS
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=partial(Connection, most=most_connections),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                log_level="warning",
                server_header=False,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=trusted_proxies,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self._stop = stop

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing: signals are the command's."""
        yield

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._stop.is_set()


def listener(host: str, port: int, error: type[PtsError], group: str) -> socket.socket:
    """The socket on which a server listens; raises `error` where it cannot, naming the settings of the group."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as failure:
        why = os.strerror(failure.errno or 0)
        raise error(f"{host} port {port} cannot be used: {why}. Set {group}HOST and {group}PORT.") from failure
