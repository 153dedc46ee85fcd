"""A server: its socket, and uvicorn, whose signals are the command's."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from pipelines.errors import PtsError
from pipelines.processes.signals import StopRequest

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 20
BACKLOG = 2_048


class Server(uvicorn.Server):
    """uvicorn, until it is asked to stop."""

    def __init__(self, app: ASGIApp, stop: StopRequest, trusted_proxies: str = "") -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http="httptools",
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
