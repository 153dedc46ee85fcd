"""`pts demo`: the whole stack with a seeded feed, and a live view of what it does to the tables."""

import time
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.live import Live

from pipelines import commands
from pipelines.demo_view import DemoView
from pipelines.errors import NotFound
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
    try:
        with suppress(KeyboardInterrupt), stack.running((), settings, say) as watch:
            if console.is_terminal:
                with Live(console=console, get_renderable=view.render, refresh_per_second=2):
                    _follow(watch, view, settings)
            else:
                _follow(watch, view, settings, say)
    finally:
        say(f"The lake is {settings.lake_root}. Ask it, for example:")
        say('  .venv/bin/pts sql "SELECT status_code, count(*) FROM gold.remaining_stops GROUP BY 1 ORDER BY 2 DESC"')


def _follow(watch: Watch, view: DemoView, settings: Settings, say: stack.Say | None = None) -> None:
    """Takes in what happens, and asks the tables every few seconds; `say` gets each new picture as lines."""
    asked_at = 0.0
    for events in watch:
        for event in events:
            match event:
                case LogLine(text):
                    view.take_line(text)
                case StateChange(service):
                    view.take_state(service)
        if time.monotonic() - asked_at >= REFRESH_SECONDS:
            with suppress(NotFound):
                _ask(view, settings)
            asked_at = time.monotonic()
            if say:
                for line in view.lines():
                    say(line)


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
