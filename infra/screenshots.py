"""Takes the pictures in docs/images: run by `make screenshots`, with Chromium, for some ten minutes.

They are of real stacks, on free ports and in a temporary folder, of which each tells one story; `ONLY=board` or
`ONLY=airflow` is one of them. Board and customers' page: a feed comes in. Airflow: the windows of a lake were made by a
wrong transform, the DAG `replay` makes them again with the right one, and somebody looks at what differs and approves
it on Airflow's own page. All processes are ended, whatever happens.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, expect

from infra.aot_cache import run_job, unused_ports
from infra.chromium import HOW_TO_INSTALL, PROGRAM, launched
from pipelines import commands
from pipelines.contracts.rules import Status
from pipelines.graph import FLOWS, Flow
from pipelines.live import topics
from pipelines.processes.airflow import url
from pipelines.queries.sql import query
from pipelines.settings import Airflow, Api, Board, Broker, Settings
from pipelines.stack import airflow, simulate, stack

IMAGES = Path(__file__).parent.parent / "docs" / "images"
FEED = commands.Simulate(packages=2_000, count=40_000, rate=0)
PAST_DAY = "2026-01-02T00:00:00Z"
WRONG, REPLAY = "carrier_throughput", "count-deliveries-once"
BY_HAND = ("check_quality", "compact", "backfill_windows", "watch_stream")
SIZE: ViewportSize = {"width": 1440, "height": 900}
BOARD: ViewportSize = {"width": 1080, "height": 760}
PHONE: ViewportSize = {"width": 390, "height": 560}
LARGEST_BYTES = 150_000
LIVE_FEED = commands.Simulate(packages=2_000, rate=500, duration_seconds=90)
ON_ITS_WAY = f"""
    SELECT tracking_number FROM gold.remaining_stops JOIN silver.ship_events USING (tracking_number)
    WHERE number_of_remaining_stops BETWEEN 2 AND 5 AND gold.remaining_stops.status_code = '{Status.IN_TRANSIT}'
    GROUP BY ALL ORDER BY count(*) DESC, tracking_number LIMIT 1
"""
PAGE_SECONDS, RUN_SECONDS, LOOK_SECONDS = 60.0, 900.0, 1.0


def main(stories: list[str]) -> None:
    if PROGRAM is None:
        sys.exit(f"Chromium was not found. Install it ({HOW_TO_INSTALL}), then try again.")
    for name in [name for name in os.environ if name.startswith("PTS_")]:
        del os.environ[name]  # a user's settings: their broker and lake are not for this
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pts-") as folder:
        for story in stories or STORIES:
            STORIES[story](Path(folder) / story)


def of_airflow(home: Path) -> None:
    with lake(home) as (settings, password), opened(url(settings)) as page:
        log_in(page, password)
        correct(page)
        look_around(page)


def of_the_board(home: Path) -> None:
    """While a feed comes in: what the board shows to who runs the lake, and the API's page to who waits."""
    (port, controller_port), (api_port, board_port) = unused_ports(), unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    settings = Settings(home=home, broker=broker, api=Api(port=api_port), board=Board(port=board_port))
    with stack.running(["broker"], settings, print):
        topics.run(commands.Topics(), settings)
        stack.start(["stream", "api", "board"], settings, print)
        simulate.run(LIVE_FEED, settings)
        with opened(settings.board.url) as page:
            until(lambda: page.request.get("/places").ok, RUN_SECONDS, "windows")
            look_at_the_board(page, settings)


def look_at_the_board(page: Page, settings: Settings) -> None:
    """Each page that is described, and what the API shows of the same package on a phone."""
    number = query(commands.Sql(query=ON_ITS_WAY), settings)[0][0].as_py()
    page.set_viewport_size(BOARD)
    show(page, "/", "Throughput")
    page.locator("#pause").click()
    picture(page, "board-now")
    show(page, f"/packages/{number}", f"Package {number}")
    picture(page, "board-package")
    show(page, "/places", "Busiest stops")
    picture(page, "board-places")
    show(page, "/quarantine", "malformed")
    picture(page, "board-quarantine")
    page.set_viewport_size(PHONE)
    show(page, f"{settings.api.url}/track/{number}", "to go")
    picture(page, "track")


@contextmanager
def lake(home: Path) -> Iterator[tuple[Settings, str]]:
    """A stack with wrong windows, and the password of its Airflow. It is stopped at the end."""
    (port, controller_port), (airflow_port, _) = unused_ports(), unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    settings = Settings(home=home, broker=broker, airflow=Airflow(port=airflow_port))
    with stack.running(["broker"], settings, print):
        topics.run(commands.Topics(), settings)
        simulate.run(FEED, settings)
        run_job(settings, with_bug())
        password = airflow.prepare(settings)
        assert password, "the home is new"
        stack.start(["stream", "airflow"], settings, print)
        yield settings, password


def with_bug() -> list[Flow]:
    """The flows, one of which counts scans of a delivery twice."""
    twice = "CASE WHEN status_code = 'DL' THEN 2 ELSE 1 END"
    return [
        replace(flow, by=f"SELECT * REPLACE ({twice} * scan_count AS scan_count) FROM ({flow.by})")
        if flow.name == WRONG
        else flow
        for flow in FLOWS
    ]


@contextmanager
def opened(root: str) -> Iterator[Page]:
    """An empty page of the site at `root`. Chromium asks nothing beyond this machine."""
    only_here = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server"]
    with (
        launched(*only_here) as browser,
        browser.new_context(base_url=root, viewport=SIZE, locale="en-US") as context,
    ):
        context.set_default_timeout(PAGE_SECONDS * 1000)
        yield context.new_page()


def log_in(page: Page, password: str) -> None:
    """On the form, as the first user."""
    page.goto("/auth/login/")
    page.fill("#username", airflow.ADMIN)
    page.fill("#password", password)
    page.click("form[name=login] [type=submit]")
    page.wait_for_url(lambda address: "/auth" not in address)
    choose(page, theme="light", timezone='"UTC"', dags_list_display='"table"')


def choose(page: Page, **choices: str) -> None:
    """What a person chooses on Airflow's pages, which keep it in the browser."""
    page.evaluate("choices => { Object.assign(localStorage, choices) }", choices)


def correct(page: Page) -> None:
    """A replay, up to its approval, which is given on its page; and to its end."""
    begin(page, "replay", REPLAY, conf={"dry_run": False, "expect": [f"gold.{WRONG}"]})
    await_state(page, f"replay/dagRuns/{REPLAY}/taskInstances/approve", "awaiting_input")
    choose(page, default_dag_view='"graph"', **{"direction-replay": '"DOWN"'})
    show(page, f"/dags/replay/runs/{REPLAY}", "approve", "roll_back")
    picture(page, "airflow-replay")
    choose(page, default_dag_view='"grid"')
    show(page, f"/dags/replay/runs/{REPLAY}/tasks/approve/required_actions", f"gold.{WRONG}", "Approve")
    picture(page, "airflow-approval")
    link = page.locator('a[href^="/pages/"]').get_attribute("href")
    assert link, "the page that shows what differs"
    page.get_by_role("button", name="Approve", exact=True).click()
    await_words(page, "Response received")
    show(page, link, "as declared")
    picture(page, "airflow-differences")
    await_state(page, f"replay/dagRuns/{REPLAY}", "success")


def look_around(page: Page) -> None:
    """The other pages, after a run of each DAG."""
    for dag_id in BY_HAND:
        begin(page, dag_id, "by-hand", logical_date=PAST_DAY)
    for dag_id in BY_HAND:
        await_state(page, f"{dag_id}/dagRuns/by-hand", "success")
    show(page, "/dags", "replay", *BY_HAND)
    picture(page, "airflow-dags")
    (asset,) = fetch(page, "/api/v2/assets?name_pattern=gold.remaining_stops")["assets"]
    show(page, f"/assets/{asset['id']}", "replay")
    page.get_by_role("button", name="Task Dependencies").click()
    await_words(page, "verify_log", "check_quality")
    picture(page, "airflow-lineage")
    show(page, "/dags/check_quality/runs/by-hand/tasks/check_quality/details", "Extra Links", "Map Index")
    picture(page, "airflow-quality")


def show(page: Page, path: str, *words: str) -> None:
    """Returns when the page is there and has these words."""
    page.goto(path)
    await_words(page, *words)


def await_words(page: Page, *words: str) -> None:
    for word in words:
        expect(page.locator("body")).to_contain_text(word, timeout=PAGE_SECONDS * 1000)


def picture(page: Page, name: str) -> None:
    """Writes a PNG when nothing on the page moves any more."""
    shots = [b"", page.screenshot()]

    def rests() -> bool:
        shots.append(page.screenshot())
        return shots[-1] == shots[-2] == shots[-3]

    until(rests, PAGE_SECONDS, f"rest for {name}")
    if len(shots[-1]) > LARGEST_BYTES:
        raise RuntimeError(f"{name}.png has {len(shots[-1]):,} bytes, which is more than {LARGEST_BYTES:,}.")
    (IMAGES / f"{name}.png").write_bytes(shots[-1])
    print(f"{name}.png: {len(shots[-1]) // 1000} kB")


def fetch(page: Page, path: str, body: Any = None) -> Any:
    """JSON from the site, asked for as the person who is logged in."""
    answer = page.request.get(path) if body is None else page.request.post(path, data=body)
    if not answer.ok:
        raise RuntimeError(f"{path}: {answer.text()}")
    return answer.json()


def begin(page: Page, dag_id: str, run_id: str, **options: Any) -> None:
    """A run by hand, as soon as the DAG is known."""
    until(lambda: fetch(page, f"/api/v2/dags?dag_id_pattern={dag_id}")["dags"], RUN_SECONDS, f"DAG {dag_id}")
    fetch(page, f"/api/v2/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, "logical_date": None, **options})


def await_state(page: Page, path: str, state: str) -> None:
    """Returns when the run or task is in this state. Raises `RuntimeError` when it has failed."""

    def is_there() -> bool:
        actual = fetch(page, f"/api/v2/dags/{path}")["state"]
        if actual in ("failed", "upstream_failed"):
            raise RuntimeError(f"{path}: {actual}.")
        return bool(actual == state)

    until(is_there, RUN_SECONDS, f"{state} of {path}")


def until(holds: Callable[[], Any], seconds: float, what: str) -> None:
    """Returns when it holds. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {seconds:.0f} s still no {what}.")
        time.sleep(LOOK_SECONDS)


STORIES = {"board": of_the_board, "airflow": of_airflow}

if __name__ == "__main__":
    main(sys.argv[1:])
