"""The board's metrics are behind the same door as its pages."""

import base64
from pathlib import Path

from fastapi.testclient import TestClient

from pipelines import metrics
from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.secret import Secret
from pipelines.settings import Board, Settings
from tests.board.makers import client, healthy
from tests.exposed import documented, exposed, labels_of, samples
from tests.healthy_lake import BATCHES


def test_exposed_are_the_metrics_of_the_catalogue_and_no_others(tmp_path: Path) -> None:
    asked = client(healthy(tmp_path))
    asked.get("/metrics")
    found = asked.get("/metrics").text
    assert exposed(found) == documented(metrics.BOARD)
    assert labels_of(found) == {name: {frozenset(metric.labels)} for metric in metrics.BOARD for name in metric.samples}


def test_requests_and_the_batch_of_the_last_page_are_told(tmp_path: Path) -> None:
    asked = client(healthy(tmp_path))
    assert samples(asked.get("/metrics").text, metrics.BOARD_BATCH) == {(): -1}
    for path in ("/batches", "/packages/42", "/packages/0", "/packages/43", "/nothing"):
        asked.get(path)
    found = asked.get("/metrics").text
    assert samples(found, metrics.BOARD_BATCH) == {(): len(BATCHES) - 1}
    assert samples(found, metrics.BOARD_REQUESTS) == {
        ("/metrics", "200"): 1,
        ("/batches", "200"): 1,
        ("/packages/{number}", "200"): 2,
        ("/packages/{number}", "422"): 1,
        ("other", "404"): 1,
    }


def test_only_who_may_look_at_pages_gets_metrics(tmp_path: Path) -> None:
    closed = Settings(home=tmp_path, board=Board(host="192.0.2.1", user="ada", password=Secret("correct horse")))
    asked = TestClient(create_app(closed, Lags(closed.lake_root)), base_url="http://board.example")
    assert asked.get("/metrics").status_code == 401
    login = base64.b64encode(b"ada:correct horse").decode()
    assert asked.get("/metrics", headers={"Authorization": f"Basic {login}"}).status_code == 200
    assert client(healthy(tmp_path)).get("/metrics", headers={"Host": "evil.example"}).status_code == 421
