"""Who may look: whoever reaches the port on the loopback interface; elsewhere, who knows user and password."""

import base64
import binascii
import hmac
import math
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.kafka_security import is_loopback
from pipelines.settings import Board
from pipelines.web.brake import Brake, client_of

GUESSES = 5
GUESSES_PER_SECOND = 5 / 40
CLIENTS_KNOWN = 10_000
CHALLENGE = {"WWW-Authenticate": 'Basic realm="SuperFastPTS", charset="UTF-8"', "Cache-Control": "no-store"}


class Login:
    """Lets requests through that may be answered.

    Without a password, a request must name the loopback interface as its host: a site whose name suddenly leads here
    (DNS rebinding) does not. With one, wrong passwords of an address are braked.
    """

    def __init__(self, app: ASGIApp, board: Board, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._board = board
        self._clock = clock
        self._guesses = Brake(GUESSES_PER_SECOND, CLIENTS_KNOWN, GUESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, client = Headers(scope=scope), scope.get("client")
        refusal = self._refusal(headers, client_of(client[0] if client else ""))
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers, client: str) -> PlainTextResponse | None:
        if self._board.password is None:
            host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
            return None if is_loopback(host) else PlainTextResponse("Ask for the board at its own address.", 421)
        given = headers.get("authorization")
        if given is None:
            return PlainTextResponse("Log in.", 401, CHALLENGE)
        if seconds := self._guesses.seconds_until_next(client, self._clock()):
            return PlainTextResponse("Too many wrong passwords.", 429, {"Retry-After": str(math.ceil(seconds))})
        if not self._is_right(given, self._board.password.reveal()):
            return PlainTextResponse("Wrong user or password.", 401, CHALLENGE)
        self._guesses.give_back(client)  # it was no guess
        return None

    def _is_right(self, given: str, password: str) -> bool:
        scheme, _, encoded = given.partition(" ")
        try:
            told = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(told, f"{self._board.user}:{password}".encode())
