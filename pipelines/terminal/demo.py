"""The picture that `pts demo` draws: services, progress, quarantine, and a few packages on their way."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pipelines.errors import printable
from pipelines.stack.demo_view import DemoView
from pipelines.terminal.page import show
from pipelines.terminal.progress import render_batch
from pipelines.values import status_text

STEPS_SHOWN = 10
"""Numbers of a package's course that fit on a line."""

REASONS_SHOWN = 4
"""Reasons for quarantine that fit on a line: the most frequent."""


class DemoScreen:
    """A picture that is kept up to date on a terminal; a few plain lines every few seconds everywhere else."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        """A sentence of its own."""
        show([text], self._console)

    def say_places(self, view: DemoView) -> None:
        """Where all pages are, on one line."""
        self.say(f"All pages are there: board {view.board}, API {view.track}, Airflow {view.airflow}.")

    @contextmanager
    def drawing(self) -> Iterator[Callable[[DemoView, bool], None]]:
        """Gives what draws the view, and whether the tables were asked since the last time."""
        if not self._console.is_terminal:
            yield lambda view, has_asked: show(demo_lines(view) if has_asked else (), self._console)
            return
        with Live(console=self._console, auto_refresh=False) as live:
            yield lambda view, _: live.update(demo_picture(view), refresh=True)


def demo_picture(view: DemoView) -> Group:
    """All that is known, on one screen."""
    states = "  ".join(f"{name} {state.lower()}" for name, state in view.states.items())
    parts: list[RenderableType] = [Text(states, style="dim"), _progress(view), Text()]
    places = {"Board": view.board, "Airflow": view.airflow, "Track": view.track}
    parts += [Text(f"{name:<12}{place}") for name, place in places.items() if place]
    if view.totals:
        parts += [Text(f"Packages    {_listed(view.totals)}"), Text(f"Quarantine  {_quarantine(view)}"), Text()]
    if view.packages:
        parts += [_packages(view), Text()]
    if view.remark:
        parts.append(Text(view.remark))
    return Group(*parts, Text("Ctrl-C stops everything; the tables stay.", style="dim"))


def demo_lines(view: DemoView) -> list[str]:
    """All that is known, in plain lines."""
    places = {"board": view.board, "airflow": view.airflow, "track": view.track}
    return [
        _progress(view).plain,
        f"packages: {_listed(view.totals)}; in quarantine: {_quarantine(view)}",
        *(f"  package {number}: {_course(view, number)} stops remain" for number in view.packages),
        *(f"{name}: {place}" for name, place in places.items() if place),
        *([view.remark] if view.remark else []),
    ]


def _progress(view: DemoView) -> Text:
    if view.batch:
        return render_batch(view.batch)
    return Text("Spark starts, and its first batch takes longest: about a minute until packages show.")


def _quarantine(view: DemoView) -> str:
    if not view.quarantined:
        return "none yet"
    first = dict(islice(view.quarantined.items(), REASONS_SHOWN))
    others = len(view.quarantined) - len(first)
    rest = f", {others} other reasons" if others > 0 else ""
    return f"{sum(view.quarantined.values()):,} records: {_listed(first)}{rest}"


def _packages(view: DemoView) -> Table:
    drawn = Table(title="A few packages on their way", title_justify="left", box=box.SIMPLE_HEAD)
    drawn.add_column("package", justify="right")
    drawn.add_column("remaining stops", min_width=30)
    drawn.add_column("status", min_width=16)
    drawn.add_column("city", min_width=14)
    drawn.add_column("last scan (UTC)", min_width=19)
    for number, row in view.packages.items():
        style = "dim" if number in view.ended else "green"
        drawn.add_row(str(number), Text(_course(view, number), style=style), *map(Text, _last_scan(row)))
    return drawn


def _course(view: DemoView, number: int) -> str:
    course = view.courses[number]
    shown = [str(step) for step in course[-STEPS_SHOWN:]]
    return " → ".join(["…", *shown] if len(course) > STEPS_SHOWN else shown)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none yet"


def _last_scan(row: Mapping[str, Any]) -> tuple[str, str, str]:
    seen = f"{row['occurred_at']:%Y-%m-%d %H:%M:%S}" if row["occurred_at"] else ""
    return status_text(row["status_code"]), printable(row["city"] or ""), seen
