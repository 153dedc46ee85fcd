"""Debian's Chromium, where there is one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)
NEEDS_CHROMIUM = pytest.mark.skipif(PROGRAM is None, reason="no Chromium was found (Debian: apt install chromium)")


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser for as long as the block lasts; one at a time."""
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=PROGRAM, chromium_sandbox=os.getuid() != 0) as found,
    ):
        yield found


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
