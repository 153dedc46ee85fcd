"""How far a command is: a line for each batch of the live job, a bar or a JSON line for each of a replay, and what else
takes long, with its seconds."""

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from pipelines.errors import printable
from pipelines.progress import (
    BatchDone,
    PartAdvanced,
    PartBegun,
    PartEnded,
    ReplayBegun,
    ReplayedBatch,
    ReplayEnded,
    Step,
    parse_batch,
)

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

LONG_SECONDS = 2.0
"""What took so long is still to be read when it is done."""


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
    """Shows each step as it comes: batches of the live job on standard output, everything else on standard error.

    Parts are for people alone: where an answer is JSON, or goes elsewhere than to the terminal, none is shown.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar: ReplayBar | None = None
        self._parts: PartsScreen | None = None
        if self._console.is_terminal and sys.stdout.isatty() and "--json" not in sys.argv:
            self._parts = PartsScreen(self._console)

    def __call__(self, step: Step) -> None:
        match step:
            case BatchDone():
                show_line(json.dumps(step.as_json()), Console())
            case ReplayBegun():
                self._bar = ReplayBar(step, self._console)
            case ReplayedBatch() if self._bar:
                self._bar.advance(step)
            case ReplayEnded() if self._bar:
                self._bar.stop()
            case PartBegun() if self._parts:
                self._parts.begin(step)
            case PartAdvanced() if self._parts:
                self._parts.advance(step)
            case PartEnded() if self._parts:
                self._parts.end(step)


@cache
def progress_screen() -> ProgressScreen:
    """The screen of this process."""
    return ProgressScreen()


class ReplayBar:
    """A bar on a terminal, a JSON line for each batch everywhere else."""

    def __init__(self, begun: ReplayBegun, console: Console) -> None:
        self._console = console
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


class PartsScreen:
    """What a command does now, with its seconds and, where its size is known, a bar; of what took long a line stays."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._open: list[Progress] = []

    def begin(self, begun: PartBegun) -> None:
        size = () if begun.total is None else (BarColumn(), MofNCompleteColumn())
        progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), *size, TimeElapsedColumn(),
            console=self._console, transient=True,
        )  # fmt: skip
        progress.add_task(begun.doing, total=begun.total)
        self._open.append(progress)
        progress.start()

    def advance(self, advanced: PartAdvanced) -> None:
        self._open[-1].update(self._open[-1].task_ids[0], completed=advanced.done)

    def end(self, ended: PartEnded) -> None:
        progress = self._open.pop()
        progress.stop()
        if ended.seconds >= LONG_SECONDS:
            self._console.print(Text(f"{progress.tasks[0].description}: {ended.seconds:.1f} s"))


def _style(key: str, value: float) -> str:
    if key == "quarantined" and value:
        return "yellow"
    return "red" if key == "lag_seconds" and value > STALE_SECONDS else ""
