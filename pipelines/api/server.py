"""`pts api`: the server, with the feed beside it, until it is asked to stop."""

import asyncio
import gc
import os
import resource
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from pipelines import commands
from pipelines.api.app import Service, create_app
from pipelines.api.feed import Feed, Freshness, KafkaSource
from pipelines.api.hub import Hub
from pipelines.api.limits import Limits
from pipelines.api.report import Entry
from pipelines.api.store import Store
from pipelines.errors import ApiUnavailable
from pipelines.io.kafka.connection import Connection
from pipelines.processes.pid_lock import holder, lock
from pipelines.processes.signals import StopRequest, signals_ask_to_stop
from pipelines.settings import Api, Settings
from pipelines.web import server as web

SWITCH_SECONDS = 0.000_5
"""For so long the feed's thread keeps the interpreter while an answer waits; 5 ms by default, a quarter of its time."""

COLLECTIONS_OF_YOUNG = 100
"""Of objects that are young, for each one of all; 10 by default. To look through those of 2,000 open streams takes a
quarter of a second, in which nobody gets an answer.
"""

CONNECTIONS_BESIDE = 900
"""Connections that are no streams: of those who ask once, or have not asked yet."""

FILES_BESIDE = 1_024
"""Open files that are no streams: these connections, the store, the brokers."""


def run(_command: commands.Api, settings: Settings) -> None:
    """Serves until SIGTERM or Ctrl-C.

    Raises:
        ApiUnavailable: The port is taken, the folder cannot be written, another API serves this home, or the store
            cannot go on.
        BrokerUnavailable: The secure profile's broker has made no login yet. A broker that is away is waited for.
    """
    api, connection = settings.api, Connection.of(settings, "api")
    with (
        _held(settings) as file,
        web.listener(api.host, api.port, ApiUnavailable, "PTS_API__") as listener,
        closing(_store(file)) as store,
    ):
        allow_files(api.streams + FILES_BESIDE)
        sys.setswitchinterval(SWITCH_SECONDS)
        freshness = Freshness(api.stale_seconds)
        service = Service(store.entry, freshness.why_not, Hub(), Limits(api), api.wait_seconds)
        with signals_ask_to_stop() as stop, _measuring(settings, service) as measured:
            server = Server(api, service, stop, measured)
            server.serve_beside(Feed(store, KafkaSource(connection), freshness, server.publish), listener)


class Server(web.Server):
    """The server, with a feed in a thread beside it. Ends when it is asked to, or when the feed has ended."""

    def __init__(
        self, api: Api, service: Service, stop: StopRequest, measured: Callable[[ASGIApp], ASGIApp] | None = None
    ) -> None:
        app, most = create_app(service, measured), api.streams + CONNECTIONS_BESIDE
        super().__init__(app, stop, api.trusted_proxies, most)
        self._hub = service.hub
        self._stop_feed = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._feed: threading.Thread | None = None

    def publish(self, news: Mapping[int, Entry], topic_id: str, positions: Mapping[int, int]) -> None:
        """Tells the hub, in its own thread; for the feed's."""
        if self._loop and not self._stop_feed.is_set():
            self._loop.call_soon_threadsafe(self._hub.publish, news, topic_id, positions)

    def serve_beside(self, feed: Feed, listener: socket.socket) -> None:
        """Serves at the socket. Raises what has ended the feed."""
        self._feed = threading.Thread(target=feed.run, args=(self._stop_feed,), name="feed")
        thresholds = gc.get_threshold()
        gc.set_threshold(*thresholds[:2], COLLECTIONS_OF_YOUNG)
        try:
            self.run(sockets=[listener])
        finally:
            gc.unfreeze()
            gc.set_threshold(*thresholds)
        self._feed.join()
        if feed.failure:
            raise feed.failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        assert self._feed is not None
        self._feed.start()
        gc.freeze()  # what is there by now stays; to look through it again makes answers wait

    async def on_tick(self, counter: int) -> bool:
        assert self._feed is not None
        return await super().on_tick(counter) or not self._feed.is_alive()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stop_feed.set()
        self._hub.close()  # or streams would not end
        await super().shutdown(sockets)


@contextmanager
def _measuring(settings: Settings, service: Service) -> Iterator[Callable[[ASGIApp], ASGIApp] | None]:
    """What counts the service's answers, with its endpoint beside it; None where no port is set for that."""
    port = settings.metrics.api_port
    if not port:
        yield None
        return
    from pipelines.api.metrics import ApiMetrics
    from pipelines.web.metrics_endpoint import metrics_endpoint
    from pipelines.web.request_metrics import Measured

    metrics = ApiMetrics(service)
    with metrics_endpoint(port, metrics.registry, "Set PTS_METRICS__API_PORT."):
        yield partial(Measured, metrics=metrics.requests)


@contextmanager
def _held(settings: Settings) -> Iterator[Path]:
    """The store's file, in a folder that no other API uses meanwhile."""
    folder = settings.home.resolve() / "api"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = lock(folder / "store.lock", mode=0o600)
    except BlockingIOError as error:
        other = holder(folder / "store.lock")
        raise ApiUnavailable(f"Another `pts api` serves {settings.home.resolve()}, process {other}.") from error
    except OSError as error:
        raise ApiUnavailable(f"{folder} cannot be written: {error.strerror}. PTS_HOME names another folder.") from error
    try:
        yield folder / "reports.sqlite"
    finally:
        os.close(handle)


def _store(file: Path) -> Store:
    try:
        return Store(file)
    except sqlite3.Error as error:
        raise ApiUnavailable(f"The API's store {file} cannot be opened: {error}.") from error


def allow_files(count: int) -> None:
    """Each stream is an open file, of which shells permit 1,024 by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
