"""The picture that `pts demo` draws: services, progress, quarantine, and a few packages on their way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipelines.io.supervisor import Service
from pipelines.progress import parse_batch, render_batch


@dataclass
class DemoView:
    """What is known so far; `render` and `lines` show it.

    Attributes:
        quarantined: Records in quarantine by reason.
        packages: The latest row of gold.remaining_stops by tracking number.
    """

    quarantined: dict[str, int] = field(default_factory=dict)
    packages: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _states: dict[str, str] = field(default_factory=dict)
    _batch: dict[str, Any] | None = None
    _courses: dict[int, list[int]] = field(default_factory=dict)

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

    def render(self) -> Group:
        services = Text("  ".join(f"{name} {state.lower()}" for name, state in self._states.items()), style="dim")
        drawn = Table("package", "remaining stops", "status", "city", "last scan (UTC)", title="Packages on their way")
        for number, row in sorted(self.packages.items()):
            drawn.add_row(str(number), Text(self._course(number), style="green"), *_last_scan(row))
        return Group(
            services, self._progress(), Text(self._quarantine()), drawn, Text("Ctrl-C stops everything.", style="dim")
        )

    def lines(self) -> list[str]:
        """The same in plain lines."""
        packages = [f"  package {number}: {self._course(number)} stops remain" for number in sorted(self.packages)]
        return [self._progress().plain, self._quarantine(), *packages]

    def _progress(self) -> Text:
        return (
            render_batch(self._batch)
            if self._batch
            else Text("Waiting for the first batch; Spark starts in some 20 s.")
        )

    def _quarantine(self) -> str:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.quarantined.items())
        return f"in quarantine: {reasons or 'nothing yet'}"

    def _course(self, number: int) -> str:
        return " → ".join(map(str, self._courses[number]))


def _last_scan(row: Mapping[str, Any]) -> tuple[str, str, str]:
    seen = f"{row['occurred_at']:%Y-%m-%d %H:%M:%S}" if row["occurred_at"] else ""
    return row["status_code"] or "", row["city"] or "", seen
