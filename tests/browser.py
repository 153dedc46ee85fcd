"""Debian's Chromium, where there is one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from infra.chromium import HOW_TO_INSTALL, PROGRAM
from pipelines.errors import PtsError
from pipelines.processes.signals import StopRequest
from pipelines.settings import Api, Board
from pipelines.web.server import listener

NEEDS_CHROMIUM = pytest.mark.skipif(PROGRAM is None, reason=f"no Chromium was found ({HOW_TO_INSTALL})")


@contextmanager
def serving(serve: Callable[[socket], object], place: Api | Board, stop: StopRequest) -> Iterator[str]:
    """The address of a server that a thread runs for as long as the block lasts; then it is asked to stop."""
    with listener(place.host, place.port, PtsError, "") as its_socket:
        thread = threading.Thread(target=serve, args=(its_socket,))
        thread.start()
        try:
            yield place.url
        finally:
            stop.set()
            thread.join()


def opened(browser: Browser, width: int = 1200, scheme: str = "light", **options: Any) -> tuple[Page, list[str]]:
    """A page, and what goes wrong on it: errors of scripts, and what the policy forbids."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, **options)  # type: ignore[arg-type]
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    return page, faults


def is_wider_than_its_window(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
