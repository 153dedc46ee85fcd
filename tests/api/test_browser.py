"""The customers' page in Debian's Chromium, where there is one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipelines.api.feed import Feed
from pipelines.api.server import Server
from pipelines.io.kafka.consumer import Message
from pipelines.processes.signals import StopRequest
from pipelines.settings import Api
from tests.api.makers import Rounds, Stand, message, stand, tombstone
from tests.api.test_page import HOSTILE
from tests.browser import NEEDS_CHROMIUM, is_wider_than_its_window, opened, serving
from tests.ports import unused_ports

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


class Idle(Feed):
    """Reads nothing by itself."""

    def run(self, stop: threading.Event) -> None:
        stop.wait()


@contextmanager
def served(made: Stand) -> Iterator[tuple[str, Callable[..., None]]]:
    """The address of an API that serves a stand, and what brings its topic more messages."""
    api, stop = Api(port=unused_ports()[0]), StopRequest()
    server = Server(api, made.service, stop)
    feed = Idle(made.store, made.topic, made.freshness, server.publish, made.clock)

    def bring(*messages: Message) -> None:
        made.topic.add(*messages)
        feed.follow(Rounds(3))

    with serving(lambda socket: server.serve_beside(feed, socket), api, stop) as address:
        yield address, bring


def test_page_updates_by_itself_in_place_until_the_report_is_gone(browser: Browser, tmp_path: Path) -> None:
    page, faults = opened(browser)
    with stand(tmp_path, message(3)) as made, served(made) as (address, bring):
        page.goto(f"{address}/track/42")
        expect(page.locator("h1")).to_have_text("4 stops to go")
        expect(page.locator("#updates")).to_be_visible()
        page.evaluate("window.isTheSame = true")
        bring(message(4, stop=10))
        expect(page.locator("h1")).to_have_text("3 stops to go")
        expect(page.locator("progress")).to_have_attribute("value", "10")
        assert page.title().startswith("3 stops to go")
        bring(message(5, stop=13, statusCode=HOSTILE))
        expect(page.locator("dl")).to_contain_text("<script>alert(1)</script>")
        assert page.evaluate("window.isTheSame")
        assert faults == []
        bring(tombstone(6))
        expect(page.locator("main")).to_contain_text("We have not heard of this package")
        page.close()


def test_page_says_when_it_is_not_connected(browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser)
    with stand(tmp_path, message(3)) as made:
        with served(made) as (address, _bring):
            page.goto(f"{address}/track/42")
            expect(page.locator("#offline")).to_be_hidden()
        expect(page.locator("#offline")).to_be_visible()
        expect(page.locator("h1")).to_have_text("4 stops to go")


def test_page_without_javascript_is_whole_and_asks_again_by_itself(browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser, java_script_enabled=False)
    with stand(tmp_path, message(3)) as made, served(made) as (address, bring):
        page.goto(address)
        page.locator("input[name=number]").fill("42")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("4 stops to go")
        expect(page.locator("noscript p")).to_be_visible()
        expect(page.locator("#updates")).to_be_hidden()
        bring(message(4, stop=10))
        page.reload()
        expect(page.locator("h1")).to_have_text("3 stops to go")


def test_page_speaks_the_browsers_language_and_the_one_that_is_chosen(browser: Browser, tmp_path: Path) -> None:
    page, faults = opened(browser, locale="de-DE")
    with stand(tmp_path, message(3)) as made, served(made) as (address, bring):
        page.goto(f"{address}/track/42")
        expect(page.locator("h1")).to_have_text("Noch 4 Stationen")
        bring(message(4, stop=12))
        expect(page.locator("h1")).to_have_text("Noch 1 Station")
        page.get_by_role("link", name="English").click()
        expect(page.locator("h1")).to_have_text("1 stop to go")
        bring(message(5, stop=13))
        expect(page.locator("h1")).to_have_text("At its last stop")
        assert faults == []
        page.close()


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (390, "light")])
def test_pages_fit_a_phone(width: int, scheme: str, browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser, width, scheme, locale="de-DE", has_touch=True, is_mobile=True)
    with stand(tmp_path, message(3, statusCode=HOSTILE * 10)) as made, served(made) as (address, _bring):
        for path in ("/", "/track/42", "/track/43", f"/track/{2**63 - 1}", "/docs"):
            page.goto(address + path)
            expect(page.locator("h1")).to_be_visible()
            assert not is_wider_than_its_window(page), path
        page.close()
