"""`pts demo`: the whole stack with a seeded feed, and a live view of what it does to the tables."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.live import Live

from pipelines import commands
from pipelines.errors import PtsError
from pipelines.io.processes import airflow as airflow_io
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
TOTALS = """
    SELECT count(*) AS seen, count(*) FILTER (number_of_remaining_stops > 0) AS "on their way",
    count(*) FILTER (status_code = 'DL') AS delivered FROM gold.remaining_stops
"""


def run(settings: Settings, console: Console) -> None:
    """Starts broker, topics, job, feed and Airflow, and shows them until Ctrl-C; then stops all of it. The lake stays.

    Not on a terminal, it prints a few plain lines every few seconds. Raises `StackError` as `pts up` does.
    """

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    most = min(settings.stream.max_records_per_batch, MOST_RECORDS_PER_BATCH)
    stream = settings.stream.model_copy(update={"max_records_per_batch": most})
    settings = settings.model_copy(update={"stream": stream})
    view = DemoView(airflow="starts", api=settings.api.url, board=settings.board.url)
    with suppress(KeyboardInterrupt), stack.running((), settings, say) as watch:
        rounds = _rounds(watch, view, settings, say)
        if console.is_terminal:
            with Live(console=console, auto_refresh=False) as live:
                for _ in rounds:
                    live.update(view.render(), refresh=True)
        else:
            for has_asked in rounds:
                for line in view.lines() if has_asked else ():
                    say(line)
    say(f"The lake is {settings.lake_root}. Ask it, for example:")
    say('  .venv/bin/pts sql "SELECT status_code, count(*) FROM gold.remaining_stops GROUP BY 1 ORDER BY 2 DESC"')


def _rounds(watch: Watch, view: DemoView, settings: Settings, say: Callable[[str], None]) -> Iterator[bool]:
    """Takes in what happens, round after round; gives whether the tables were asked in this one."""
    asked_at = 0.0
    for events in watch:
        for event in events:
            match event:
                case LogLine(text):
                    view.take_line(text)
                case AirflowReady():
                    view.airflow = f"{airflow_io.url(settings)}, as {airflow.ADMIN}"
                    say(view.places())
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
