"""What is true of every request: its client may ask so often."""

from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.api.limits import Limits
from pipelines.api.problems import Problem

UNCOUNTED = {"/healthz", "/readyz"}


class Guard:
    """Counts requests before they reach a route."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        try:
            if scope["path"] not in UNCOUNTED:
                client = scope.get("client")
                self._limits.request(client[0] if client else "")
        except Problem as problem:
            return await problem.response()(scope, receive, send)
        return await self._app(scope, receive, send)
