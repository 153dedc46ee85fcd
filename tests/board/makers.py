"""The board of the healthy lake."""

from pathlib import Path

from fastapi.testclient import TestClient

from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.settings import Settings
from tests.healthy_lake import HealthyLake, healthy_lake
from tests.pages import Parsed

HERE = "http://127.0.0.1"


def client(settings: Settings) -> TestClient:
    return TestClient(create_app(settings, Lags(settings.lake_root)), base_url=HERE, raise_server_exceptions=False)


def healthy(home: Path, spoilt: HealthyLake | None = None) -> Settings:
    """Settings of a home with the lake."""
    (spoilt or healthy_lake()).write(home / "lake")
    return Settings(home=home)


def page(settings: Settings, path: str, status: int = 200) -> Parsed:
    answer = client(settings).get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Parsed(answer.text)
