"""What is true of every answer: its headers, and that its client may ask so often."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.api.limits import Limits
from pipelines.api.problems import Problem

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
UNCOUNTED = {"/healthz", "/readyz"}


class Guard:
    """Counts requests before they reach a route, and gives each answer its headers."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        try:
            if scope["path"] not in UNCOUNTED:
                client = scope.get("client")
                self._limits.request(client[0] if client else "")
        except Problem as problem:
            return await problem.response()(scope, receive, guarded)
        return await self._app(scope, receive, guarded)
