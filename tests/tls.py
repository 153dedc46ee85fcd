"""A port that speaks TLS and nothing else: where a connection ends at the handshake, no broker is needed."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class TlsPort:
    """An address on the loopback interface, and the certificates of clients that came there."""

    port: int
    context: ssl.SSLContext
    clients: list[dict[str, Any]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def tls_port(certificates: Path, wants_client: bool = False) -> Iterator[TlsPort]:
    """Shows the broker's certificate of the folder; may want one of the client, from the same authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0  # each connection sees the certificate that there is then
    context.load_cert_chain(certificates / "broker.pem")
    if wants_client:
        context.load_verify_locations(certificates / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = TlsPort(server.getsockname()[1], context)
        threading.Thread(target=_serve, args=(server, found), daemon=True).start()
        yield found


def _serve(server: socket.socket, found: TlsPort) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            with client, suppress(OSError), found.context.wrap_socket(client, server_side=True) as connection:
                if certificate := connection.getpeercert():
                    found.clients.append(certificate)
                connection.recv(1)
