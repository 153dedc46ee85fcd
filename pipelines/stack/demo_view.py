"""The picture that `pts demo` draws: services, progress, quarantine, and a few packages on their way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines.errors import printable
from pipelines.io.processes.supervisor import Service
from pipelines.terminal.progress import parse_batch, render_batch
from pipelines.terminal.rendering import status_text

ENDED_SHOWN = 3
"""So many packages without remaining stops stay in sight; the one that ended first makes room for another."""

STEPS_SHOWN = 10
"""Numbers of a package's course that fit on a line."""

REASONS_SHOWN = 4
"""Reasons for quarantine that fit on a line: the most frequent."""


@dataclass
class DemoView:
    """What is known so far; `render` and `lines` show it.

    Attributes:
        totals: Number of packages by where they are.
        quarantined: Records in quarantine by reason, the most frequent first.
        packages: The latest row of gold.remaining_stops by tracking number.
        remark: What there is to say about the services.
        airflow: Where Airflow's pages are, and for whom; nothing where it does not run.
        api: Where the customers' pages are.
        board: Where the board is.
    """

    totals: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    packages: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    remark: str | None = None
    airflow: str | None = None
    api: str | None = None
    board: str | None = None
    _states: dict[str, str] = field(default_factory=dict)
    _batch: dict[str, Any] | None = None
    _courses: dict[int, list[int]] = field(default_factory=dict)
    _ended: list[int] = field(default_factory=list)

    def take_line(self, line: str) -> None:
        """A line of the stream's log; only those of batches are shown."""
        self._batch = parse_batch(line) or self._batch

    def take_state(self, service: Service) -> None:
        self._states[service.name] = service.state

    def take_packages(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of gold.remaining_stops; a number that changed extends the package's course."""
        for row in rows:
            number, remaining = row["tracking_number"], row["number_of_remaining_stops"]
            self.packages[number] = row
            course = self._courses.setdefault(number, [])
            if remaining is not None and course[-1:] != [remaining]:
                course.append(remaining)
            if not remaining and number not in self._ended:
                self._ended.append(number)
        while len(self._ended) > ENDED_SHOWN:
            del self.packages[self._ended.pop(0)]

    def render(self) -> Group:
        states = "  ".join(f"{name} {state.lower()}" for name, state in self._states.items())
        parts: list[RenderableType] = [Text(states, style="dim"), self._progress(), Text()]
        if self.board:
            parts.append(Text(f"Board       {self.board}"))
        if self.airflow:
            parts.append(Text(f"Airflow     {self.airflow}"))
        if track := self._track():
            parts.append(Text(f"Track       {track}"))
        if self.totals:
            parts += [Text(f"Packages    {_listed(self.totals)}"), Text(f"Quarantine  {self._quarantine()}"), Text()]
        if self.packages:
            parts += [self._table(), Text()]
        if self.remark:
            parts.append(Text(self.remark))
        return Group(*parts, Text("Ctrl-C stops everything; the tables stay.", style="dim"))

    def lines(self) -> list[str]:
        """The same in plain lines."""
        packages = [f"  package {number}: {self._course(number)} stops remain" for number in self.packages]
        return [
            self._progress().plain,
            f"packages: {_listed(self.totals)}; in quarantine: {self._quarantine()}",
            *packages,
            *([f"board: {self.board}"] if self.board else []),
            *([f"airflow: {self.airflow}"] if self.airflow else []),
            *([f"track: {track}"] if (track := self._track()) else []),
            *([self.remark] if self.remark else []),
        ]

    def places(self) -> str:
        """Where all pages are, on one line."""
        return f"All pages are there: board {self.board}, API {self._track()}, Airflow {self.airflow}."

    def _track(self) -> str | None:
        """The page of a package to try: of the first one that is shown."""
        number = next(iter(self.packages), None)
        return f"{self.api}/track/{number}" if self.api and number else self.api

    def _progress(self) -> Text:
        if self._batch:
            return render_batch(self._batch)
        return Text("Spark starts, and its first batch takes longest: about a minute until packages show.")

    def _quarantine(self) -> str:
        if not self.quarantined:
            return "none yet"
        first = dict(islice(self.quarantined.items(), REASONS_SHOWN))
        others = len(self.quarantined) - len(first)
        rest = f", {others} other reasons" if others > 0 else ""
        return f"{sum(self.quarantined.values()):,} records: {_listed(first)}{rest}"

    def _table(self) -> Table:
        drawn = Table(title="A few packages on their way", title_justify="left", box=box.SIMPLE_HEAD)
        drawn.add_column("package", justify="right")
        drawn.add_column("remaining stops", min_width=30)
        drawn.add_column("status", min_width=16)
        drawn.add_column("city", min_width=14)
        drawn.add_column("last scan (UTC)", min_width=19)
        for number, row in self.packages.items():
            style = "dim" if number in self._ended else "green"
            drawn.add_row(str(number), Text(self._course(number), style=style), *map(Text, _last_scan(row)))
        return drawn

    def _course(self, number: int) -> str:
        course = self._courses[number]
        shown = [str(step) for step in course[-STEPS_SHOWN:]]
        return " → ".join(["…", *shown] if len(course) > STEPS_SHOWN else shown)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none yet"


def _last_scan(row: Mapping[str, Any]) -> tuple[str, str, str]:
    seen = f"{row['occurred_at']:%Y-%m-%d %H:%M:%S}" if row["occurred_at"] else ""
    return status_text(row["status_code"]), printable(row["city"] or ""), seen
