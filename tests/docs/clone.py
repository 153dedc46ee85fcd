"""A clone of this repository, and `make demo` within it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.conftest import Documented
from tests.docs.pages import ROOT
from tests.integration.pts_process import wait_until
from tests.ports import unused_ports

LONG_AGO = 0
START_SECONDS = 420.0
"""All of the stack at once, and two batches: on two cores that have other work, too, some minutes."""


def published(folder: Path) -> Path:
    """A repository with the tracked files as they are in the working tree, for a reader to clone."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    identity = ("-c", "user.name=A reader", "-c", "user.email=reader@example.org")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*identity, "commit", "-q", "-m", "As it is")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def enter(documented: Documented, clone: Path) -> None:
    """What follows is run in the clone, by its code, with the tools of this repository, which are up to date."""
    (clone / ".venv").symlink_to(ROOT / ".venv")
    for path in clone.rglob("*"):
        if path.is_file() and not path.is_relative_to(clone / ".venv"):
            os.utime(path, (LONG_AGO, LONG_AGO))
    documented.folder = clone
    broker, controller = unused_ports()
    documented.environment |= {
        "PYTHONPATH": str(clone),
        "PTS_BROKER__PORT": str(broker),
        "PTS_BROKER__CONTROLLER_PORT": str(controller),
        "PTS_AIRFLOW__PORT": str(unused_ports()[0]),
        "PTS_API__PORT": str(unused_ports()[0]),
        "PTS_BOARD__PORT": str(unused_ports()[0]),
    }


@contextmanager
def stopped_at_the_end(documented: Documented) -> Iterator[None]:
    """Whatever the test left of the stack is stopped."""
    try:
        yield
    finally:
        subprocess.run(
            [documented.folder / ".venv" / "bin" / "pts", "down"],
            cwd=documented.folder,
            env=documented.environment,
            check=False,
            timeout=180,
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """As a terminal starts processes, also where the tests run in the background, whose children ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def watch_demo(documented: Documented) -> str:
    """Runs the next block, `make demo`, until packages have moved, then presses Ctrl-C. What it said."""
    log = documented.folder / "demo.log"
    with log.open("wb") as out, interruptible():
        demo = subprocess.Popen(
            ["bash", "-c", documented.take("make demo")],
            cwd=documented.folder,
            env=documented.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: " → " in log.read_text(), log, START_SECONDS)
        os.killpg(demo.pid, signal.SIGINT)
        demo.wait(timeout=180)
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait()
    deadline = time.monotonic() + 60
    while "The lake is" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.05)
    return log.read_text()
