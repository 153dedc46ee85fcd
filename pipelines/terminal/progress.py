"""How far a command is: a line for each batch of the live job, a bar or a JSON line for each of a replay."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pipelines.errors import printable
from pipelines.progress import BatchDone, ReplayBegun, ReplayedBatch, ReplayEnded, Step, parse_batch

PARTS = {
    "records": "{:>9,} records  ",
    "records_per_second": "{:>8,.0f}/s  ",
    "lag_records": "lag {:>9,}",
    "lag_seconds": " ({:,.1f} s)",
    "quarantined": "  quarantined {:>6,}",
    "duplicates": "  duplicates {:>6,}",
    "duration_seconds": "  in {:.1f} s",
}

STALE_SECONDS = 60


def render_batch(line: Mapping[str, Any]) -> Text:
    """A batch's log line for a terminal; a key that is missing is left out."""
    text = Text()
    if "batch_id" in line:
        text.append(f"batch {line['batch_id']:>5}  ", style="bold")
    for key, form in PARTS.items():
        if line.get(key) is not None:
            text.append(form.format(line[key]), style=_style(key, line[key]))
    return text


def show_line(line: str, console: Console) -> None:
    """A line of the stream's log: on a terminal a batch as text; anything else, and everywhere else, as it is."""
    batch = parse_batch(line) if console.is_terminal else None
    console.print(render_batch(batch) if batch else Text(printable(line.expandtabs())), soft_wrap=True)


class ProgressScreen:
    """Shows each step as it comes: batches of the live job on standard output, those of a replay on standard error."""

    def __init__(self) -> None:
        self._bar: ReplayBar | None = None

    def __call__(self, step: Step) -> None:
        match step:
            case BatchDone():
                show_line(json.dumps(step.as_json()), Console())
            case ReplayBegun():
                self._bar = ReplayBar(step)
            case ReplayedBatch() if self._bar:
                self._bar.advance(step)
            case ReplayEnded() if self._bar:
                self._bar.stop()


@cache
def progress_screen() -> ProgressScreen:
    """The screen of this process."""
    return ProgressScreen()


class ReplayBar:
    """A bar on a terminal, a JSON line for each batch everywhere else."""

    def __init__(self, begun: ReplayBegun) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("records"),
            TextColumn("{task.fields[rate]:,.0f}/s"), TimeRemainingColumn(),
            console=self._console, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("replay", total=begun.total, completed=begun.done, rate=0)
        self._bar.start()

    def advance(self, done: ReplayedBatch) -> None:
        self._bar.update(self._task, completed=done.records_done, rate=done.records_per_second)
        if not self._console.is_terminal:
            self._console.print(json.dumps(done.as_json()), soft_wrap=True, markup=False)

    def stop(self) -> None:
        self._bar.stop()


def _style(key: str, value: float) -> str:
    if key == "quarantined" and value:
        return "yellow"
    return "red" if key == "lag_seconds" and value > STALE_SECONDS else ""
