"""Chromium: where it is, and a browser of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)
"""None where there is none."""

HOW_TO_INSTALL = "Debian: apt install chromium"


@contextmanager
def launched(*arguments: str) -> Iterator[Browser]:
    """A browser for as long as the block lasts, without a window; one at a time."""
    is_sandboxed = os.getuid() != 0  # the sandbox is for ordinary users alone
    # Its socket has little room for a path, and a folder for temporary files of somebody's own may be a long one.
    environment: dict[str, str | float | bool] = {name: text for name, text in os.environ.items() if name != "TMPDIR"}
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=PROGRAM, args=arguments, chromium_sandbox=is_sandboxed, env=environment
        ) as browser,
    ):
        yield browser
