"""`pts demo`: the whole stack with a seeded feed, and a live view of what it does to the tables."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.live import Live

from pipelines import commands
from pipelines.demo_view import DemoView
from pipelines.errors import PtsError
from pipelines.jobs import sql, stack
from pipelines.jobs.watch import LogLine, StateChange, Watch
from pipelines.settings import Settings

PACKAGES_SHOWN = 8
REFRESH_SECONDS = 3.0

QUARANTINE = "SELECT reason, count(*) AS records FROM silver.quarantine GROUP BY reason ORDER BY records DESC, reason"
PACKAGE_COLUMNS = "tracking_number, number_of_remaining_stops, status_code, city, occurred_at"
MOVING = f"""
    SELECT {PACKAGE_COLUMNS} FROM gold.remaining_stops WHERE number_of_remaining_stops BETWEEN 3 AND 12
    ORDER BY event_kafka_timestamp DESC, tracking_number LIMIT {PACKAGES_SHOWN}
"""


def run(settings: Settings, console: Console) -> None:
    """Starts broker, topics, job and feed, and shows them until Ctrl-C; then stops all of it. The lake stays.

    Not on a terminal, it prints a few plain lines every few seconds. Raises `StackError` as `pts up` does.
    """

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    view = DemoView()
    with suppress(KeyboardInterrupt), stack.running((), settings, say) as watch:
        rounds = _rounds(watch, view, settings)
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


def _rounds(watch: Watch, view: DemoView, settings: Settings) -> Iterator[bool]:
    """Takes in what happens, round after round; gives whether the tables were asked in this one."""
    asked_at = 0.0
    for events in watch:
        for event in events:
            match event:
                case LogLine(text):
                    view.take_line(text)
                case StateChange(service):
                    view.take_state(service)
        is_due = time.monotonic() - asked_at >= REFRESH_SECONDS
        if is_due:
            with suppress(PtsError):  # a table may be in the making; what is really wrong, the job says itself
                _ask(view, settings)
            asked_at = time.monotonic()
        yield is_due


def _ask(view: DemoView, settings: Settings) -> None:
    view.quarantined = {row["reason"]: row["records"] for row in _rows(QUARANTINE, settings)}
    if not view.packages:
        view.take_packages(_rows(MOVING, settings))
    else:
        numbers = ", ".join(map(str, view.packages))
        query = f"SELECT {PACKAGE_COLUMNS} FROM gold.remaining_stops WHERE tracking_number IN ({numbers})"
        view.take_packages(_rows(query, settings))


def _rows(query: str, settings: Settings) -> list[dict[str, Any]]:
    return list(sql.query(commands.Sql(query=query), settings).to_pylist())
