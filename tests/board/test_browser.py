"""The board in Debian's Chromium, where there is one."""

import os
import shutil
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.errors import BoardUnavailable
from pipelines.io.processes.signals import StopRequest
from pipelines.settings import Board
from pipelines.web.server import Server, listener
from tests.board.makers import healthy
from tests.board.test_pages import HOSTILE, PAGES
from tests.healthy_lake import healthy_lake
from tests.ports import unused_ports

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TICK_MILLISECONDS = 2_000
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium was found (Debian: apt install chromium)")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The board of a lake in which each city is hostile."""
    spoilt = healthy_lake()
    for rows in (spoilt.tables, spoilt.later):
        for row in (row for table in rows.values() for row in table if "city" in row):
            row["city"] = HOSTILE
    settings = healthy(tmp_path_factory.mktemp("browser"), spoilt)
    board, stop = Board(port=unused_ports()[0]), StopRequest()
    server = Server(create_app(settings, Lags(settings.lake_root)), stop)
    with listener(board.host, board.port, BoardUnavailable, "PTS_BOARD__") as socket:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        yield board.url
        stop.set()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=PROGRAM, chromium_sandbox=os.getuid() != 0) as found,
    ):
        yield found


def opened(browser: Browser, width: int = 1200, scheme: str = "light") -> tuple[Page, list[str]]:
    """A page, and what goes wrong on it: errors of scripts, and what the policy forbids."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    return page, faults


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_pages_fit_are_without_faults_and_show_hostile_text_as_text(
    width: int, scheme: str, address: str, browser: Browser
) -> None:
    page, faults = opened(browser, width, scheme)
    for path in PAGES:
        page.goto(address + path, wait_until="networkidle")
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), path
    page.goto(f"{address}/packages/42")
    expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
    assert faults == []


def test_page_now_renews_itself_until_it_is_paused_by_the_keyboard(address: str, browser: Browser) -> None:
    page, faults = opened(browser)
    page.clock.install()
    page.goto(address)
    page.evaluate("document.body.addEventListener('tick', () => { window.ticks = (window.ticks || 0) + 1 })")
    with page.expect_response(lambda response: "hx-request" in response.request.headers):
        page.clock.run_for(TICK_MILLISECONDS)
    expect(page.locator(".uplot canvas").first).to_be_visible()
    page.locator("#pause").press("Enter")
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    before = page.evaluate("window.ticks")
    page.clock.run_for(10 * TICK_MILLISECONDS)
    assert (page.evaluate("window.ticks"), faults) == (before, [])


def test_package_is_found_by_the_keyboard(address: str, browser: Browser) -> None:
    page, _ = opened(browser)
    page.goto(f"{address}/batches")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.locator("#number").press_sequentially("42")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Package 42")
