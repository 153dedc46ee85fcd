"""Requests of a server, counted by route and status."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.metrics import Metric
from pipelines.web.instruments import counter, histogram

OTHER = "other"
"""Of what no route answers: its path is the client's choice, and would be a sample for each."""


class RequestMetrics:
    """Counts the answers of a server, and how long each took to begin."""

    def __init__(self, registry: CollectorRegistry, requests: Metric, duration: Metric) -> None:
        self._requests = counter(requests, registry)
        self._duration = histogram(duration, registry)

    def answered(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", OTHER)
        self._requests.labels(route, str(status)).inc()
        self._duration.labels(route).observe(seconds)


class Measured:
    """Tells of each answer when it begins, or fails."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, clock: Callable[[], float] = time.perf_counter) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, has_begun = self._clock(), False

        async def told(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._metrics.answered(scope, message["status"], self._clock() - began)
            await send(message)

        try:
            await self._app(scope, receive, told)
        except Exception:
            if not has_begun:  # who is outside answers with 500
                self._metrics.answered(scope, 500, self._clock() - began)
            raise
