"""`pts demo`: the whole stack with a seeded feed, and a live view of what it does to the tables."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from pipelines import commands
from pipelines.errors import PtsError
from pipelines.queries import sql
from pipelines.settings import Settings
from pipelines.stack import airflow, stack
from pipelines.stack.demo_view import DemoView
from pipelines.stack.watch import AirflowReady, LogLine, StateChange, Watch

PACKAGES_SHOWN = 8
REFRESH_SECONDS = 3.0
MOST_RECORDS_PER_BATCH = 40_000
"""Smaller batches than the job would take by itself: also the first ones, on a cold engine, are soon to be seen."""

QUARANTINE = "SELECT reason, count(*) AS records FROM silver.quarantine GROUP BY reason ORDER BY records DESC, reason"
PACKAGE_COLUMNS = "tracking_number, number_of_remaining_stops, status_code, city, occurred_at"
EXAMPLE = '.venv/bin/pts sql "SELECT status_code, count(*) FROM gold.remaining_stops GROUP BY 1 ORDER BY 2 DESC"'
TOTALS = """
    SELECT count(*) AS seen, count(*) FILTER (number_of_remaining_stops > 0) AS "on their way",
    count(*) FILTER (status_code = 'DL') AS delivered FROM gold.remaining_stops
"""


class Screen(Protocol):
    """Shows the demo."""

    def say(self, text: str) -> None:
        """Shows a sentence."""

    def say_places(self, view: DemoView) -> None:
        """Shows where all pages are."""

    def drawing(self) -> AbstractContextManager[Callable[[DemoView, bool], None]]:
        """Gives what draws the view, and whether the tables were asked since the last time."""


def run(settings: Settings, screen: Screen) -> None:
    """Starts broker, topics, job, feed and Airflow, and shows them until Ctrl-C; then stops all of it. The lake stays.

    Raises `StackError` as `pts up` does.
    """
    most = min(settings.stream.max_records_per_batch, MOST_RECORDS_PER_BATCH)
    stream = settings.stream.model_copy(update={"max_records_per_batch": most})
    settings = settings.model_copy(update={"stream": stream})
    view = DemoView(airflow="starts", api=settings.api.url, board=settings.board.url)
    with suppress(KeyboardInterrupt), stack.running((), settings, screen.say) as watch, screen.drawing() as draw:
        for has_asked in rounds(watch, view, settings, screen):
            draw(view, has_asked)
    screen.say(f"The lake is {settings.lake_root}. Ask it, for example:")
    screen.say(f"  {EXAMPLE}")


def rounds(watch: Watch, view: DemoView, settings: Settings, screen: Screen) -> Iterator[bool]:
    """Takes in what happens, round after round; gives whether the tables were asked in this one."""
    asked_at = 0.0
    for events in watch:
        for event in events:
            match event:
                case LogLine(text):
                    view.take_line(text)
                case AirflowReady(url):
                    view.airflow = f"{url}, as {airflow.ADMIN}"
                    screen.say_places(view)
                case StateChange(service, remark):
                    view.take_state(service)
                    view.remark = remark or view.remark
        is_due = time.monotonic() - asked_at >= REFRESH_SECONDS
        if is_due:
            with suppress(PtsError):  # a table may be in the making; what is really wrong, the job says itself
                _ask(view, settings)
            asked_at = time.monotonic()
        yield is_due


def _ask(view: DemoView, settings: Settings) -> None:
    (view.totals,) = _rows(TOTALS, settings)
    view.quarantined = {row["reason"]: row["records"] for row in _rows(QUARANTINE, settings)}
    view.take_packages(_packages(f"tracking_number IN ({_listed(view)})", PACKAGES_SHOWN, settings))
    vacancies = PACKAGES_SHOWN - len(view.packages)
    on_their_way = f"number_of_remaining_stops BETWEEN 3 AND 12 AND tracking_number NOT IN ({_listed(view)})"
    view.take_packages(_packages(on_their_way, vacancies, settings))


def _listed(view: DemoView) -> str:
    return ", ".join(map(str, (0, *view.packages)))  # an empty list is no SQL; no package is number 0


def _packages(condition: str, limit: int, settings: Settings) -> list[dict[str, Any]]:
    """Reports that fulfil a condition, those first that moved last."""
    query = f"""
        SELECT {PACKAGE_COLUMNS} FROM gold.remaining_stops WHERE {condition}
        ORDER BY event_kafka_timestamp DESC, tracking_number LIMIT {limit}
    """
    return _rows(query, settings)


def _rows(query: str, settings: Settings) -> list[dict[str, Any]]:
    return list(sql.query(commands.Sql(query=query), settings).to_pylist())
