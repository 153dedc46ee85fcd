"""A brake on logins by the API, and no page of Airflow in a frame of another site."""

import re
from typing import Any

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGIN = re.compile(r"/auth/token(/cli)?/?")
"""Airflow's own brake is on the form, `/auth/login`, alone."""

UNAUTHORIZED, TOO_MANY_REQUESTS = 401, 429

HEADERS = {
    b"x-frame-options": b"SAMEORIGIN",  # its own pages of users and roles are frames in its own page
    b"content-security-policy": b"frame-ancestors 'self'; object-src 'none'; base-uri 'self'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
}


class LoginBrake:
    """ASGI middleware: after so many wrong passwords of an address (`[fab] auth_rate_limit`) it is answered 429 without
    a look at the password, until their time is over. An attempt counts from its beginning, and only if it was wrong.
    """

    def __init__(self, app: ASGIApp, limit: str) -> None:
        self._app = app
        self._limit = parse(limit)
        self._attempts = FixedWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not LOGIN.search(scope["path"]):
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        if not self._attempts.hit(self._limit, address):
            told = {"detail": "Too many wrong logins from this address: wait, then try again."}
            wait = {"Retry-After": str(self._limit.get_expiry())}
            await JSONResponse(told, TOO_MANY_REQUESTS, wait)(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] != UNAUTHORIZED:
                self._attempts.hit(self._limit, address, cost=-1)
            await send(message)

        await self._app(scope, receive, counted)


class OwnFrames:
    """ASGI middleware: a browser shows the pages in no frame of another site, and takes no file for what it is not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                added = [(name, value) for name, value in HEADERS.items() if name not in there]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._app(scope, receive, told)


class ClosedPlugin(AirflowPlugin):
    """Found by Airflow in its plugins' folder."""

    name = "closed"
    fastapi_root_middlewares: list[dict[str, Any]] = [  # noqa: RUF012 as Airflow declares it
        {"middleware": OwnFrames, "name": "own frames"},
        *(
            [{"middleware": LoginBrake, "args": [conf.get("fab", "auth_rate_limit")], "name": "login brake"}]
            if conf.getboolean("fab", "auth_rate_limited")
            else []
        ),
    ]
