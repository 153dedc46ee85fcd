"""The board of the healthy lake."""

from html.parser import HTMLParser
from pathlib import Path

from fastapi.testclient import TestClient

from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.settings import Settings
from tests.healthy_lake import HealthyLake, healthy_lake

HERE = "http://127.0.0.1"


class Parsed(HTMLParser):
    """A page as a browser sees it: elements with attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


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
