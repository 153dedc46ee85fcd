"""A token endpoint of OpenID Connect on the loopback interface, and the tokens that it signs."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from tests.ports import unused_ports


@dataclass(frozen=True)
class Issuer:
    """Who signs tokens, and for whom: logins, `id:secret`, with the subject of their tokens."""

    subjects: dict[str, str] = field(default_factory=dict)
    key: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65_537, 2_048))

    def key_set(self) -> str:
        """By which its signature is proven: a JSON Web Key Set."""
        public = self.key.public_key().public_numbers()
        numbers = {name: _number(value) for name, value in (("n", public.n), ("e", public.e))}
        return json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", **numbers}]})

    def token(self, subject: str, lifetime_seconds: int) -> str:
        now = int(time.time())
        claims = {"iss": "tests", "sub": subject, "scope": "kafka", "iat": now, "exp": now + lifetime_seconds}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims))
        return f"{signed}.{_encoded(self.key.sign(signed.encode(), PKCS1v15(), SHA256()))}"


class TokenEndpoint:
    """Where tokens are given, to who has a login of the issuer.

    Attributes:
        asked: What it was asked: login and form.
        lifetime_seconds: How long the tokens live that it gives.
    """

    def __init__(self, issuer: Issuer) -> None:
        self.asked: list[tuple[str, str]] = []
        self.lifetime_seconds = 3_600
        self._issuer = issuer
        self._server = self._listening(unused_ports()[0])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/token"

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody answers for as long as the block lasts."""
        port = self._server.server_port
        self.close()
        try:
            yield
        finally:
            self._server = self._listening(port)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, login: str, form: str) -> dict[str, Any]:
        self.asked.append((login, form))
        subject = self._issuer.subjects.get(login)
        if subject is None:
            return {"error": "invalid_client"}
        token = self._issuer.token(subject, self.lifetime_seconds)
        return {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime_seconds}

    def _listening(self, port: int) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"endpoint": self}))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    endpoint: TokenEndpoint

    def do_POST(self) -> None:
        login = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        told = self.endpoint.answer(login, self.rfile.read(int(self.headers["Content-Length"])).decode())
        body = json.dumps(told).encode()
        self.send_response(401 if "error" in told else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def token_endpoint(issuer: Issuer) -> Iterator[TokenEndpoint]:
    """One that answers for as long as the block lasts."""
    endpoint = TokenEndpoint(issuer)
    yield endpoint
    endpoint.close()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8))


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
