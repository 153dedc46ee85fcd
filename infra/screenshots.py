"""Takes the pictures of Airflow in docs/images: run by `make screenshots`, with Chromium, for some ten minutes.

It is a real stack, on free ports and in a temporary folder, that tells one story: the windows of a lake were made by a
wrong transform, the DAG `replay` makes them anew with the right one, and somebody looks at what differs and approves
it on Airflow's own page. All processes are ended, whatever happens.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aot_cache import run_job, unused_ports
from chromium import PAGE_SECONDS, Page, chromium, program, until
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines import commands
from pipelines.graph import FLOWS
from pipelines.io.processes.airflow import url
from pipelines.live import topics
from pipelines.settings import Airflow, Broker, Settings
from pipelines.stack import airflow, simulate, stack

IMAGES = Path(__file__).parent.parent / "docs" / "images"
FEED = commands.Simulate(packages=2_000, count=40_000, rate=0)
PAST_DAY = "2026-01-02T00:00:00Z"
WRONG, REPLAY = "carrier_throughput", "count-deliveries-once"
BY_HAND = ("check_quality", "compact", "backfill_windows", "watch_stream")
RUN_SECONDS = 900.0


def main() -> None:
    command = program()
    for name in [name for name in os.environ if name.startswith("PTS_")]:
        del os.environ[name]  # a user's settings: their broker and lake are not for this
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="pts-") as folder,
        lake(Path(folder) / "home") as (settings, password),
        chromium(command, Path(folder) / "chromium", url(settings)) as page,
    ):
        log_in(page, password)
        correct(page)
        look_around(page)


@contextmanager
def lake(home: Path) -> Iterator[tuple[Settings, str]]:
    """A stack with wrong windows, and the password of its Airflow. It is stopped at the end."""
    (port, controller_port), (airflow_port, _) = unused_ports(), unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    settings = Settings(home=home, broker=broker, airflow=Airflow(port=airflow_port))
    with stack.running(["broker"], settings, print):
        topics.run(commands.Topics(), settings)
        simulate.run(FEED, settings)
        with planted_bug():
            run_job(settings)
        password = airflow.prepare(settings)
        assert password, "the home is new"
        stack.start(["stream", "airflow"], settings, print)
        yield settings, password


@contextmanager
def planted_bug() -> Iterator[None]:
    """Scans of a delivery count twice, in this process."""
    (flow,) = (flow for flow in FLOWS if flow.name == WRONG)
    right = flow.by

    def wrong(*frames: DataFrame) -> DataFrame:
        times = F.when(F.col("status_code") == "DL", 2).otherwise(1)
        return right(*frames).withColumn("scan_count", times * F.col("scan_count"))

    object.__setattr__(flow, "by", wrong)
    try:
        yield
    finally:
        object.__setattr__(flow, "by", right)


def log_in(page: Page, password: str) -> None:
    """On the form, as the first user."""
    page.open("/auth/login/", "Password")
    for field, text in {"username": airflow.ADMIN, "password": password}.items():
        page.value(f"document.getElementById('{field}').value = {json.dumps(text)}")
    page.value("document.querySelector('form[name=login] [type=submit]').click()")
    until(lambda: page.value("!location.pathname.startsWith('/auth')"), PAGE_SECONDS, "log-in")
    choose(page, theme="light", timezone='"UTC"', dags_list_display='"table"')


def choose(page: Page, **choices: str) -> None:
    """What a person chooses on Airflow's pages, which keep it in the browser."""
    page.value(f"Object.assign(localStorage, {json.dumps(choices)}) && true")


def correct(page: Page) -> None:
    """A replay, up to its approval, which is given on its page; and to its end."""
    begin(page, "replay", REPLAY, conf={"dry_run": False, "expect": [f"gold.{WRONG}"]})
    await_state(page, f"replay/dagRuns/{REPLAY}/taskInstances/approve", "awaiting_input")
    choose(page, default_dag_view='"graph"', **{"direction-replay": '"DOWN"'})
    page.open(f"/dags/replay/runs/{REPLAY}", "approve", "roll_back")
    page.picture(IMAGES / "airflow-replay.png")
    choose(page, default_dag_view='"grid"')
    page.open(f"/dags/replay/runs/{REPLAY}/tasks/approve/required_actions", f"gold.{WRONG}", "Approve")
    page.picture(IMAGES / "airflow-approval.png")
    (link,) = page.value("[...document.querySelectorAll('a[href^=\"/pages/\"]')].map(a => a.getAttribute('href'))")
    page.click("Approve")
    page.await_words("Response received")
    page.open(link, "as declared")
    page.picture(IMAGES / "airflow-differences.png")
    await_state(page, f"replay/dagRuns/{REPLAY}", "success")


def look_around(page: Page) -> None:
    """The other pages, after a run of each DAG."""
    for dag_id in BY_HAND:
        begin(page, dag_id, "by-hand", logical_date=PAST_DAY)
    for dag_id in BY_HAND:
        await_state(page, f"{dag_id}/dagRuns/by-hand", "success")
    page.open("/dags", "replay", *BY_HAND)
    page.picture(IMAGES / "airflow-dags.png")
    (asset,) = page.fetch("/api/v2/assets?name_pattern=gold.remaining_stops")["assets"]
    page.open(f"/assets/{asset['id']}", "replay")
    page.click("Task Dependencies")
    page.await_words("verify_log", "check_quality")
    page.picture(IMAGES / "airflow-lineage.png")
    page.open("/dags/check_quality/runs/by-hand/tasks/check_quality/details", "Extra Links", "Map Index")
    page.picture(IMAGES / "airflow-quality.png")


def begin(page: Page, dag_id: str, run_id: str, **options: Any) -> None:
    """A run by hand, as soon as the DAG is known."""
    until(lambda: page.fetch(f"/api/v2/dags?dag_id_pattern={dag_id}")["dags"], RUN_SECONDS, f"DAG {dag_id}")
    page.fetch(f"/api/v2/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, "logical_date": None, **options})


def await_state(page: Page, path: str, state: str) -> None:
    """Returns when the run or task is in this state. Raises `RuntimeError` when it has failed."""

    def is_there() -> bool:
        found = page.fetch(f"/api/v2/dags/{path}")["state"]
        if found in ("failed", "upstream_failed"):
            raise RuntimeError(f"{path}: {found}.")
        return bool(found == state)

    until(is_there, RUN_SECONDS, f"{state} of {path}")


if __name__ == "__main__":
    main()
