"""The embedded stack: its addresses and services, what happens in it, and what its feed appended."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.stack.watch import AirflowIdle, AirflowReady, Event, LogLine, StateChange
from pipelines.terminal.page import Page, show, table
from pipelines.terminal.progress import show_line

if TYPE_CHECKING:
    from pipelines.stack.simulate import SimulateSummary
    from pipelines.stack.status import Status


def status_page(status: "Status") -> Page:
    """A line per address, a table of the services, and what is to be done about Airflow."""
    yield from (f"{name}: {place}" for name, place in status.places.items())
    rows = (
        (
            service.name,
            service.state + (f" ({service.exit_code})" if service.exit_code else ""),
            str(service.pid or ""),
            str(service.log),
        )
        for service in status.services
    )
    yield table("service", "state", "process", "log", rows=rows)
    if status.remark:
        yield status.remark


def simulated_page(feed: "SimulateSummary") -> Iterator[str]:
    """How many records were appended, to which topics, and how fast."""
    yield (
        f"Appended {feed.records:,} records ({feed.events:,} to {SHIP_EVENTS.name}, {feed.routes:,} to "
        f"{SHIP_ROUTES.name}) in {feed.seconds:.1f} s: {feed.records_per_second:,.0f} records/s."
    )


class StackScreen:
    """What happens in a running stack, line by line."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        """A sentence of its own."""
        show([text], self._console)

    def event(self, event: Event) -> None:
        """What a watch gave."""
        match event:
            case LogLine(text):
                show_line(text, self._console)
            case AirflowIdle(remark):
                self.say(remark)
            case AirflowReady(url):
                self.say(f"Airflow is ready at {url}.")
            case StateChange(service, remark):
                self.say(f"{service.name}: {service.state}" + (f", process {service.pid}" if service.pid else ""))
                if remark:
                    self.say(remark)
