"""What a running stack looks like on a terminal."""

import io
from pathlib import Path

from rich.console import Console

from pipelines.processes.supervisor import Service
from pipelines.stack.simulate import SimulateSummary
from pipelines.stack.status import Status
from pipelines.stack.watch import AirflowIdle, AirflowReady, LogLine, StateChange
from pipelines.terminal.page import show
from pipelines.terminal.stack import StackScreen, simulated_page, status_page

STREAM = Service("stream", "RUNNING", 42, None, Path("/logs/stream.log"))


def test_summary_of_a_feed_reads_as_a_sentence() -> None:
    assert list(simulated_page(SimulateSummary(12_000, 11_600, 400, 6.0, 2_000.0))) == [
        "Appended 12,000 records (11,600 to ship-events, 400 to ship-routes) in 6.0 s: 2,000 records/s."
    ]


def test_each_thing_that_happens_in_a_stack_is_a_line() -> None:
    out = io.StringIO()
    screen = StackScreen(Console(file=out, width=20))
    events = LogLine("{}"), AirflowIdle("Airflow starts none."), AirflowReady("http://x"), StateChange(STREAM, "Look.")
    for event in events:
        screen.event(event)
    assert out.getvalue().splitlines() == [
        "{}", "Airflow starts none.", "Airflow is ready at http://x.", "stream: RUNNING, process 42", "Look.",
    ]  # fmt: skip


def test_status_shows_places_services_and_what_is_to_be_done() -> None:
    ended = Service("broker", "FATAL", None, 3, Path("/logs/broker.log"))
    out = io.StringIO()
    show(status_page(Status({"lake": "/lake"}, (STREAM, ended), "Look there.")), Console(file=out, width=100))
    shown = out.getvalue()
    assert all(part in shown for part in ("lake: /lake\n", "stream", "42", "FATAL (3)", "/logs/broker.log"))
    assert shown.endswith("Look there.\n")
