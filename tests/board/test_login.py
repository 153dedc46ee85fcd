"""Who may look."""

import base64
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError
from starlette.responses import PlainTextResponse

from pipelines.board.app import create_app
from pipelines.board.login import GUESSES, Login
from pipelines.board.now import Lags
from pipelines.secret import Secret
from pipelines.settings import Board, Settings
from pipelines.web.headers import HEADERS

CLOSED = Board(host="192.0.2.1", user="ada", password=Secret("correct horse"))


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def client(board: Board, clock: Clock, base: str = "http://board.example") -> TestClient:
    return TestClient(Login(PlainTextResponse("in"), board, clock), base_url=base)


def _headers(password: str | None) -> dict[str, str]:
    return {} if password is None else {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}


@pytest.mark.parametrize(
    "given",
    [
        {"host": "0.0.0.0"},
        {"host": "192.0.2.1"},
        {"host": "::"},
        {"host": "192.0.2.1", "user": "ada"},
        {"user": "ada"},
        {"password": "correct horse"},
        {"user": "a:da", "password": "correct horse"},
    ],
)
def test_board_that_would_be_open_to_a_network_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="PTS_BOARD__"):
        Board.model_validate(given)


def test_only_who_knows_user_and_password_gets_in() -> None:
    made = client(CLOSED, Clock())
    challenged = made.get("/")
    assert (challenged.status_code, challenged.headers["www-authenticate"][:5]) == (401, "Basic")
    for wrong in ("ada:wrong", "eve:correct horse", "ada", ":"):
        assert client(CLOSED, Clock()).get("/", headers=_headers(wrong)).status_code == 401
    for broken in ("Basic !", "Basic", "Bearer YWRhOmNvcnJlY3QgaG9yc2U=", "Basic \u00e9"):
        headers = {b"authorization": broken.encode("latin-1")}
        assert client(CLOSED, Clock()).get("/", headers=headers).status_code == 401
    assert made.get("/", headers=_headers("ada:correct horse")).text == "in"


def test_wrong_passwords_are_braked_and_the_right_one_never_is() -> None:
    clock = Clock()
    made = client(CLOSED, clock)
    for _ in range(3 * GUESSES):
        assert made.get("/", headers=_headers("ada:correct horse")).status_code == 200
    statuses = [made.get("/", headers=_headers(f"ada:{n}")).status_code for n in range(GUESSES + 2)]
    assert statuses == [401] * GUESSES + [429] * 2
    assert made.get("/", headers=_headers("ada:correct horse")).status_code == 429, "or guessing would go on"
    clock.seconds += 60
    assert made.get("/", headers=_headers("ada:correct horse")).status_code == 200


@pytest.mark.parametrize(
    ("base", "status"),
    [
        ("http://127.0.0.1:8010", 200),
        ("http://localhost:8010", 200),
        ("http://[::1]:8010", 200),
        ("http://evil.example:8010", 421),
        ("http://127.0.0.1.evil.example", 421),
    ],
)
def test_without_a_password_only_the_loopback_interface_is_answered(base: str, status: int) -> None:
    assert client(Board(), Clock(), base).get("/").status_code == status


def test_every_answer_has_the_headers_of_a_closed_page(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, board=CLOSED)
    made = TestClient(create_app(settings, Lags(settings.lake_root)))
    for headers, status in (({}, 401), (_headers("ada:correct horse"), 404)):  # there is no lake
        answer = made.get("/", headers=headers)
        assert answer.status_code == status
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
