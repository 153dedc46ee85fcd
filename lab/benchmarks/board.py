"""How long do the board's pages take? One person looks at one page after the other, and at another package each time.

    .venv/bin/python -m lab.benchmarks.board <home of a lake>

prints the times on a lake that is there. They are those of the server: nothing goes over a network, no browser draws.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

from starlette.testclient import TestClient

from lab.benchmarks.contenders import Drain
from lab.benchmarks.driving import RunFailed
from lab.benchmarks.growth import grow
from lab.benchmarks.seeded_log import broker
from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.settings import Settings

FIRST_PACKAGE = 1
LOOKS = 40
WARM_UPS = 2
PAGES = {
    "now": "/",
    "package": "/packages/{number}",
    "repeats": "/packages/{number}?repeats=true",
    "places": "/places",
    "quarantine": "/quarantine",
    "batches": "/batches",
    "history": "/history",
}


def board_of_ours(work: Path, logs: Path, packages: int, scans: int) -> dict[str, Any]:
    """On a lake with reports of so many packages and so many scans behind it."""
    name = f"board-{packages}-{scans}"
    with broker(work / "broker") as settings:
        place = Drain(settings.bootstrap_servers, "", str(work / name))
        grow(place, packages, scans, logs / f"{name}.log")
    found = page_times(Settings(home=place.path))
    shutil.rmtree(place.path)
    return {"packages": packages, "scans": scans, "pages": found}


def page_times(settings: Settings) -> dict[str, dict[str, float]]:
    """By page: `p50_milliseconds` and `p95_milliseconds`. Raises `RunFailed` for a page that is not there."""
    client = TestClient(create_app(settings, Lags(settings.lake_root)), base_url="http://127.0.0.1")
    found = {}
    for name, path in PAGES.items():
        times = [_milliseconds(client, path.format(number=FIRST_PACKAGE + look)) for look in range(WARM_UPS + LOOKS)]
        cuts = quantiles(times[WARM_UPS:], n=20)
        found[name] = {"p50_milliseconds": cuts[9], "p95_milliseconds": cuts[18]}
    return found


def _milliseconds(client: TestClient, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    seconds = time.perf_counter() - began
    if not answer.is_success:
        raise RunFailed(f"{path} was answered with {answer.status_code}.")
    return seconds * 1000


if __name__ == "__main__":
    sys.stdout.write(json.dumps(page_times(Settings(home=Path(sys.argv[1]))), indent=1) + "\n")
