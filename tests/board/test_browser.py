"""The board in Debian's Chromium, where there is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.processes.signals import StopRequest
from pipelines.settings import Board, Settings
from pipelines.state.heartbeat import beat
from pipelines.web.server import Server
from tests.board.makers import healthy
from tests.board.test_pages import HOSTILE, PAGES
from tests.browser import NEEDS_CHROMIUM, is_wider_than_its_window, opened, serving
from tests.healthy_lake import CONSISTENT_BATCH, HealthyLake, healthy_lake
from tests.ports import unused_ports

TICK_MILLISECONDS = 2_000

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The address of a board that serves for as long as the block lasts."""
    board, stop = Board(port=unused_ports()[0]), StopRequest()
    server = Server(create_app(settings, Lags(settings.lake_root)), stop)
    with serving(lambda socket: server.run(sockets=[socket]), board, stop) as address:
        yield address


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The board of a lake in which each city is hostile."""
    spoilt = healthy_lake()
    for rows in (spoilt.tables, spoilt.later):
        for row in (row for table in rows.values() for row in table if "city" in row):
            row["city"] = HOSTILE
    with served(healthy(tmp_path_factory.mktemp("browser"), spoilt)) as board_address:
        yield board_address


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_pages_fit_are_without_faults_and_show_hostile_text_as_text(
    width: int, scheme: str, address: str, browser: Browser
) -> None:
    page, faults = opened(browser, width, scheme)
    for path in PAGES:
        page.goto(address + path, wait_until="networkidle")
        assert not is_wider_than_its_window(page), path
    for path in ("/packages/42", "/places"):
        page.goto(address + path)
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


def test_package_is_found_by_the_keyboard_and_an_unknown_one_is_a_sentence(address: str, browser: Browser) -> None:
    page, _ = opened(browser)
    page.goto(f"{address}/batches")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for number in ("42", "4711"):
        page.locator("#number").fill("")
        page.locator("#number").press_sequentially(number)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Package 42" if number == "42" else "There is nothing to show")
    expect(page.locator("main")).to_contain_text("Package 4711 is in neither")


def test_board_of_an_empty_lake_says_so_and_shows_what_lands_and_that_the_job_has_stopped(
    browser: Browser, tmp_path: Path
) -> None:
    page, _ = opened(browser)
    page.clock.install()
    settings, whole = Settings(home=tmp_path), healthy_lake()
    with served(settings) as address:
        page.goto(address)
        expect(page.locator("main")).to_contain_text("There are no tables at")

        healthy(tmp_path, HealthyLake(whole.tables | {"ops.batches": whole.ledger[:-1]}))
        beat(settings.lake_root, {"at": "2026-03-01T12:01:00+00:00", "lag_records": 1234, "lag_seconds": 2.0})
        page.reload()
        expect(page.locator("#page")).to_contain_text(f"At batch {CONSISTENT_BATCH}")
        expect(page.locator(".unmet").first).to_contain_text("`pts status` tells whether the job runs")
        expect(page.get_by_role("row", name="stream")).to_contain_text("stopped")

        HealthyLake({"ops.batches": whole.ledger}, whole.later).write(Path(settings.lake_root))
        page.clock.run_for(TICK_MILLISECONDS)
        expect(page.locator("#page")).to_contain_text(f"At batch {CONSISTENT_BATCH + 1}")
        expect(page.locator("#offline")).to_be_hidden()
    page.clock.run_for(TICK_MILLISECONDS)
    expect(page.locator("#offline")).to_be_visible()  # the board itself has stopped, and the page is not of now
