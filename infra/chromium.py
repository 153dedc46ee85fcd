"""Headless Chromium with one page, spoken to by the DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1440, 900
PAGE_SECONDS, LOOK_SECONDS = 60.0, 1.0


class Page:
    """What Chromium shows of the site at `root`."""

    def __init__(self, socket: ClientConnection, root: str) -> None:
        self._socket, self._root, self._count = socket, root, 0

    def value(self, expression: str) -> Any:
        """What the page's JavaScript gives, promises awaited. Raises `RuntimeError` for its errors."""
        found = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']['exception']['description']}")
        return found["result"].get("value")

    def fetch(self, path: str, body: Any = None) -> Any:
        """JSON from the site, asked for by the page itself, as the person who is logged in."""
        options: dict[str, Any] = {"headers": {"Content-Type": "application/json"}}
        if body is not None:
            options |= {"method": "POST", "body": json.dumps(body)}
        answer = "async answer => { if (!answer.ok) throw Error(await answer.text()); return answer.json() }"
        return self.value(f"fetch({json.dumps(path)}, {json.dumps(options)}).then({answer})")

    def open(self, path: str, *words: str) -> None:
        """Returns when the page has these words. Raises `TimeoutError`."""
        self._call("Page.navigate", url=self._root + path)
        self.await_words(*words)

    def await_words(self, *words: str) -> None:
        """Returns when the page has them. Raises `TimeoutError`."""
        has = f"{json.dumps(words)}.every(word => document.body?.innerText.includes(word))"
        until(lambda: self.value(has), PAGE_SECONDS, f"page with {', '.join(words)}")

    def click(self, text: str) -> None:
        """Presses the button that bears this text, once it can be pressed."""
        found = f"[...document.querySelectorAll('button')].find(b => b.innerText === {json.dumps(text)} && !b.disabled)"
        until(lambda: self.value(f"{found} !== undefined"), PAGE_SECONDS, f"button {text}")
        self.value(f"{found}.click()")

    def picture(self, file: Path) -> None:
        """Writes a PNG when nothing on the page moves any more. Raises `TimeoutError`."""
        shots = [b"", self._shot()]

        def rests() -> bool:
            shots.append(self._shot())
            return shots[-1] == shots[-2] == shots[-3]

        until(rests, PAGE_SECONDS, f"rest for {file.name}")
        file.write_bytes(shots[-1])
        print(f"{file.name}: {len(shots[-1]) // 1000} kB")

    def _shot(self) -> bytes:
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(PAGE_SECONDS))).get("id") != self._count:
            pass  # an event
        if "error" in answer:
            raise RuntimeError(f"Chromium, {method}: {answer['error']['message']}")
        return answer["result"]


def program() -> str:
    """Where it is installed. Ends the script where it is not."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        sys.exit("Chromium was not found. Install it (Debian: apt install chromium), then try again.")
    return found


@contextmanager
def chromium(command: str, folder: Path, root: str) -> Iterator[Page]:
    """An empty page of a Chromium that keeps its state in the folder. It asks nothing beyond this machine."""
    options = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run"]
    options += [f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars", "--lang=en-US"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server"]
    if os.getuid() == 0:
        options.append("--no-sandbox")  # the sandbox is for ordinary users alone
    process = subprocess.Popen([command, *options, "about:blank"], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        told = folder / "DevToolsActivePort"
        until(lambda: told.exists() and told.read_text(), PAGE_SECONDS, "Chromium's port")
        with urllib.request.urlopen(f"http://127.0.0.1:{told.read_text().split()[0]}/json/list") as answer:
            (page,) = (target for target in json.load(answer) if target["type"] == "page")
        with connect(page["webSocketDebuggerUrl"], max_size=None, proxy=None) as socket:
            made = Page(socket, root)
            made._call(
                "Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False
            )  # the window's own size has its title bar in it
            yield made
    finally:
        process.terminate()
        process.wait()


def until(holds: Callable[[], Any], seconds: float, what: str) -> None:
    """Returns when it holds. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {seconds:.0f} s still no {what}.")
        time.sleep(LOOK_SECONDS)
