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

LIFETIME_SECONDS = 3_600


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

    def token(self, subject: str) -> str:
        now = int(time.time())
        claims = {"iss": "tests", "sub": subject, "scope": "kafka", "iat": now, "exp": now + LIFETIME_SECONDS}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims))
        return f"{signed}.{_encoded(self.key.sign(signed.encode(), PKCS1v15(), SHA256()))}"


@contextmanager
def token_endpoint(issuer: Issuer) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Its address, and what it is asked: login and form. Who has no login is refused."""
    asked: list[tuple[str, str]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            login = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
            asked.append((login, self.rfile.read(int(self.headers["Content-Length"])).decode()))
            subject = issuer.subjects.get(login)
            told: dict[str, Any] = {"error": "invalid_client"}
            if subject:
                told = {"access_token": issuer.token(subject), "token_type": "Bearer", "expires_in": LIFETIME_SECONDS}
            body = json.dumps(told).encode()
            self.send_response(200 if subject else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token", asked
        server.shutdown()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8))


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
