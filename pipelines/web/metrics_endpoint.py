"""`/metrics` on a port of its own, of the loopback interface alone."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from pipelines.errors import in_words, warn
from pipelines.kafka_security import is_loopback
from pipelines.web.instruments import CONTENT_TYPE, exposition

HOST = "127.0.0.1"
PATH = "/metrics"
PATIENCE_SECONDS = 10.0
"""The connection of a client that asks or takes nothing for so long is closed."""

LAST_SECONDS = 5.0
"""How long the end waits for a scrape under way: a thread that is still within DuckDB or delta-rs when Python ends
takes the process down with it."""


@contextmanager
def metrics_endpoint(port: int, registry: CollectorRegistry, setting: str) -> Iterator[None]:
    """Answers scrapes in threads of its own for as long as the block lasts.

    Where the port cannot be had, standard error is told, and the block goes on without: what is measured matters more.
    """
    try:
        server = _Endpoint(port, registry)
    except OSError as error:
        warn(f"{HOST} port {port} cannot be used, so there are no metrics: {os.strerror(error.errno or 0)}. {setting}")
        yield
        return
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics-endpoint", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            server.scraping.acquire(timeout=LAST_SECONDS)  # for good: what is asked from here on has no answer


class _Endpoint(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a slow client does not hold up the end

    def __init__(self, port: int, registry: CollectorRegistry) -> None:
        super().__init__((HOST, port), _Handler)
        self.registry = registry
        self.scraping = threading.Lock()
        """Held while samples are collected: one scrape at a time."""

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is none of the log's business."""


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE_SECONDS

    def do_GET(self) -> None:
        assert isinstance(self.server, _Endpoint)
        if not is_loopback(urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""):
            return self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"Ask for the metrics at their own address.\n")
        if self.path != PATH:
            return self._answer(HTTPStatus.NOT_FOUND, f"{PATH} is all there is.\n".encode())
        try:
            with self.server.scraping:
                text = exposition(self.server.registry)
        except Exception as error:  # whatever it is, the process goes on
            warn(f"{PATH} fails: {in_words(error)}")
            return self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"This is a defect; the log has it.\n")
        return self._answer(HTTPStatus.OK, text, CONTENT_TYPE)

    def _answer(self, status: HTTPStatus, text: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """No line for each scrape."""
