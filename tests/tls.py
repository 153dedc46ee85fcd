"""Ports that speak TLS and nothing else, or not even that: where a connection ends there, no broker is needed."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class TlsPort:
    """An address on the loopback interface, and the certificates of clients that came there."""

    port: int
    context: ssl.SSLContext
    clients: list[dict[str, Any]]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def tls_port(certificates: Path, wants_client: bool = False, port: int = 0) -> Iterator[TlsPort]:
    """Shows the broker's certificate of the folder; may want one of the client, from the same authority. At a port that
    is free, if none is given.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0  # each connection sees the certificate that there is then
    context.load_cert_chain(certificates / "broker.pem")
    if wants_client:
        context.load_verify_locations(certificates / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    clients: list[dict[str, Any]] = []
    with _port(lambda client: _shake_hands(client, context, clients), port) as number:
        yield TlsPort(number, context, clients)


@contextmanager
def plain_port(port: int = 0) -> Iterator[str]:
    """A port that breaks off, as a broker does that hears TLS and expects Kafka's protocol."""
    with _port(lambda client: client.recv(4), port) as number:
        yield f"127.0.0.1:{number}"


@contextmanager
def _port(serve: Callable[[socket.socket], object], port: int) -> Iterator[int]:
    """Serves each connection in a thread of its own: one that says nothing keeps no other waiting."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=served, args=(client,), daemon=True).start()

    def served(client: socket.socket) -> None:
        with client, suppress(OSError):
            serve(client)

    with socket.create_server(("127.0.0.1", port)) as server:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)  # or the port is taken for as long as the thread waits


def _shake_hands(client: socket.socket, context: ssl.SSLContext, clients: list[dict[str, Any]]) -> None:
    with context.wrap_socket(client, server_side=True) as connection:
        if certificate := connection.getpeercert():
            clients.append(certificate)
        connection.recv(1)
