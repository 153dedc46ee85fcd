"""What Airflow's API server adds to what is asked of it, and refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow.api_fastapi.core_api.security import get_user
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from dags.plugins import pages_plugin
from dags.plugins.closed_plugin import LoginBrake, OwnFrames

pytestmark = pytest.mark.slow


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """For somebody who is logged in; there is one page, and beside it what is none."""
    monkeypatch.setenv("PTS_HOME", str(tmp_path))
    (tmp_path / "quality" / "run").mkdir(parents=True)
    (tmp_path / "quality" / "run" / "index.html").write_text("a page")
    (tmp_path / "quality" / "run" / "rows.parquet").write_text("rows")
    (tmp_path / "secret.html").write_text("of nobody's concern")
    (tmp_path / "quality" / "circle").symlink_to(tmp_path / "quality" / "circle")
    (tmp_path / "quality" / "out.html").symlink_to(tmp_path / "secret.html")
    monkeypatch.setitem(pages_plugin.app.dependency_overrides, get_user, lambda: None)
    with TestClient(pages_plugin.app) as client:
        yield client


def test_page_is_served(pages: TestClient) -> None:
    assert pages.get("/quality/run/index.html").text == "a page"


@pytest.mark.parametrize(
    "path",
    [
        "quality/run/%00.html", "quality/%00", "quality/" + "x" * 5_000 + ".html", "quality/circle/x.html",
        "quality/run/rows.parquet", "quality/run", "quality/%2e%2e/secret.html", "quality/..%2fsecret.html",
        "quality/out.html", "quality//etc/hostname", "other/index.html", "quality/%ff.html", "%00/index.html",
    ],
)  # fmt: skip
def test_whatever_is_no_page_is_not_found(pages: TestClient, path: str) -> None:
    assert pages.get(f"/{path}").status_code == 404


@pytest.fixture
def logins() -> TestClient:
    """A server that knows one password, behind the middlewares."""

    async def token(request: Request) -> Response:
        is_right = (await request.body()) == b"right"
        return PlainTextResponse("a token" if is_right else "", 201 if is_right else 401)

    async def page(_request: Request) -> Response:
        return PlainTextResponse("a page", headers={"X-Frame-Options": "DENY"})

    paths = ("/auth/token", "/auth/token/cli", "/prefix/auth/token")
    served = Starlette(routes=[*(Route(path, token, methods=["POST"]) for path in paths), Route("/", page)])
    return TestClient(LoginBrake(OwnFrames(served), "5 per 40 second"))


def test_wrong_passwords_are_braked_and_then_a_right_one_too_until_their_time_is_over(logins: TestClient) -> None:
    paths = ["/auth/token", "/auth/token/cli", "/prefix/auth/token"] * 4
    codes = [logins.post(path, content="wrong").status_code for path in paths]
    assert codes == [401] * 5 + [429] * 7
    refused = logins.post("/auth/token", content="right")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "40")
    assert logins.get("/").status_code == 200


def test_right_passwords_are_not_braked_and_make_no_wrong_one_forgotten(logins: TestClient) -> None:
    contents = ["right", "wrong"] * 5 + ["right"]
    codes = [logins.post("/auth/token", content=content).status_code for content in contents]
    assert codes == [201, 401] * 5 + [429]


def test_pages_are_in_no_frame_of_another_site(logins: TestClient) -> None:
    headers = logins.post("/auth/token", content="right").headers
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert logins.get("/").headers["X-Frame-Options"] == "DENY", "what is stricter stays"
