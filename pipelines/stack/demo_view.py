"""What `pts demo` shows: services, progress, quarantine, and a few packages on their way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.processes.supervisor import Service
from pipelines.progress import parse_batch

ENDED_SHOWN = 3
"""So many packages without remaining stops stay in sight; the one that ended first makes room for another."""


@dataclass
class DemoView:
    """What is known so far.

    Attributes:
        totals: Number of packages by where they are.
        quarantined: Records in quarantine by reason, the most frequent first.
        packages: The latest row of gold.remaining_stops by tracking number.
        remark: What there is to say about the services.
        airflow: Where Airflow's pages are, and for whom; nothing where it does not run.
        api: Where the customers' pages are.
        board: Where the board is.
        states: State of each service.
        batch: The newest batch, as the stream's log tells of it.
        courses: By package, the numbers of remaining stops that were seen, in their order.
        ended: Packages without remaining stops that are shown, the first that ended first.
    """

    totals: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    packages: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    remark: str | None = None
    airflow: str | None = None
    api: str | None = None
    board: str | None = None
    states: dict[str, str] = field(default_factory=dict)
    batch: dict[str, Any] | None = None
    courses: dict[int, list[int]] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)

    def take_line(self, line: str) -> None:
        """A line of the stream's log; only those of batches are shown."""
        self.batch = parse_batch(line) or self.batch

    def take_state(self, service: Service) -> None:
        self.states[service.name] = service.state

    def take_packages(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of gold.remaining_stops; a number that changed extends the package's course."""
        for row in rows:
            number, remaining = row["tracking_number"], row["number_of_remaining_stops"]
            self.packages[number] = row
            course = self.courses.setdefault(number, [])
            if remaining is not None and course[-1:] != [remaining]:
                course.append(remaining)
            if not remaining and number not in self.ended:
                self.ended.append(number)
        while len(self.ended) > ENDED_SHOWN:
            del self.packages[self.ended.pop(0)]

    @property
    def track(self) -> str | None:
        """The page of a package to try: of the first one that is shown."""
        number = next(iter(self.packages), None)
        return f"{self.api}/track/{number}" if self.api and number else self.api
