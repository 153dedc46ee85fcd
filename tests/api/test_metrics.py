"""What the API tells Prometheus, on a port that no client of its has."""

from pathlib import Path

from fastapi.testclient import TestClient

from pipelines import metrics
from pipelines.api.app import create_app
from pipelines.api.metrics import ApiMetrics
from pipelines.web.instruments import exposition
from pipelines.web.request_metrics import Measured
from tests.api.makers import Stand, message, stand
from tests.exposed import documented, exposed, labels_of, samples


def client(made: Stand, measured: ApiMetrics) -> TestClient:
    return TestClient(create_app(made.service, lambda app: Measured(app, measured.requests)))


def text(measured: ApiMetrics) -> str:
    return exposition(measured.registry).decode()


def test_exposed_are_the_metrics_of_the_catalogue_and_no_others(tmp_path: Path) -> None:
    with stand(tmp_path, message(0)) as made:
        measured = ApiMetrics(made.service)
        client(made, measured).get("/packages/42")
        found = text(measured)
    assert exposed(found) == documented(metrics.API)
    assert labels_of(found) == {name: {frozenset(metric.labels)} for metric in metrics.API for name in metric.samples}


def test_requests_streams_position_and_readiness_are_told(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1), client_requests_per_second=1) as made:
        measured = ApiMetrics(made.service)
        asked = client(made, measured)
        for path in ("/packages/42", "/packages/7", "/track/42", "/packages/42"):
            asked.get(path)
        with made.limits.stream("a"), made.limits.stream("b"):
            found = text(measured)
        assert samples(found, metrics.API_REQUESTS) == {
            ("/packages/{trackingNumber}", "200"): 1,
            ("/packages/{trackingNumber}", "404"): 1,
            ("/track/{number}", "200"): 1,
            ("other", "429"): 1,  # it reached no route
        }
        assert samples(found, metrics.API_STREAMS) == {(): 2}
        assert samples(found, metrics.API_POSITION) == {("0",): 2, ("1",): 0}
        assert samples(found, metrics.API_READY) == {(): 1}
        made.clock.now += 31
        found = text(measured)
        assert samples(found, metrics.API_READY) == {(): 0}
        assert samples(found, metrics.API_STREAMS) == {(): 0}


def test_clients_of_the_api_never_get_its_metrics(tmp_path: Path) -> None:
    """Also those of a proxy on the same machine, who seem to come from it."""
    with stand(tmp_path, message(0)) as made:
        asked = TestClient(create_app(made.service, lambda app: Measured(app, ApiMetrics(made.service).requests)))
        assert asked.get("/metrics", headers={"Host": "127.0.0.1"}).status_code == 404
