"""Answers are counted by what the server calls them, never by what a client made up."""

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from pipelines.metrics import API_DURATION, API_REQUESTS
from pipelines.web.instruments import exposition
from pipelines.web.request_metrics import Measured, RequestMetrics
from tests.exposed import samples


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def client(registry: CollectorRegistry) -> TestClient:
    app, moments = FastAPI(), iter(range(100))
    app.add_middleware(
        Measured,
        metrics=RequestMetrics(registry, API_REQUESTS, API_DURATION),
        clock=lambda: float(next(moments)),
    )

    @app.get("/packages/{number}")
    def package(number: int) -> PlainTextResponse:
        if number == 13:
            raise ValueError("a defect")
        return PlainTextResponse("here")

    return TestClient(app, raise_server_exceptions=False)


def test_requests_are_counted_by_route_and_status(registry: CollectorRegistry, client: TestClient) -> None:
    for path in ("/packages/1", "/packages/2", "/packages/x", "/packages/13", "/wp-admin", "/packages/1/2"):
        client.get(path)
    client.post("/packages/1")
    text = exposition(registry).decode()
    assert samples(text, API_REQUESTS) == {
        ("/packages/{number}", "200"): 2,
        ("/packages/{number}", "422"): 1,
        ("/packages/{number}", "500"): 1,
        ("/packages/{number}", "405"): 1,
        ("other", "404"): 2,
    }
    assert samples(text, API_DURATION, "_sum") == {("/packages/{number}",): 5, ("other",): 2}, "a second each"
