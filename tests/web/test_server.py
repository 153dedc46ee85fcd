"""Connections: who says nothing, or is one too many, keeps no other from being answered."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send

from pipelines.processes.signals import StopRequest
from pipelines.settings import Api
from pipelines.web import server
from pipelines.web.server import Server
from tests.browser import serving
from tests.ports import unused_ports
from tests.waiting import becomes

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 0.3
ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"


async def app(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answers; for /long, begins to."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"o", "more_body": True})
    if scope["path"] == "/long":
        await asyncio.sleep(3 * PATIENCE_SECONDS)
    await send({"type": "http.response.body", "body": b"k"})


@contextmanager
def served(most_connections: int) -> Iterator[int]:
    """The port of a server with so many connections at most."""
    place, stop = Api(port=unused_ports()[0]), StopRequest()
    running = Server(app, stop, most_connections=most_connections)
    with serving(lambda its_socket: running.run(sockets=[its_socket]), place, stop):
        yield place.port


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answer(client: socket.socket, asked: bytes = b"") -> bytes:
    """What comes until the answer has its end, or the server closes."""
    told = b""
    with suppress(ConnectionError):
        client.sendall(asked)
        while not told.endswith(b"ok") and (more := client.recv(1_000)):
            told += more
    return told


@pytest.mark.parametrize("beginning", [b"", b"GET / HT", ASKED[:-2], ASKED + b"GET"])
def test_client_that_does_not_end_the_head_of_its_request_is_let_go(
    beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", PATIENCE_SECONDS)
    with served(10) as port, closing(connected(port)) as client:
        told = answer(client, beginning)
        assert told.endswith(b"ok") == beginning.startswith(ASKED)
        assert answer(client) == b""


def test_answer_may_take_longer_than_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", PATIENCE_SECONDS)
    with served(10) as port, closing(connected(port)) as client:
        assert answer(client, LONG).endswith(b"ok")


def test_connection_that_is_one_too_many_is_closed_and_an_ended_one_makes_room() -> None:
    with served(2) as port:
        with closing(connected(port)) as first, closing(connected(port)) as second:
            for client in (first, second):
                assert answer(client, ASKED).endswith(b"ok")
            with closing(connected(port)) as third:
                assert answer(third, ASKED) == b""

        def has_room() -> bool:
            with closing(connected(port)) as later:
                return answer(later, ASKED).endswith(b"ok")

        assert becomes(has_room)
