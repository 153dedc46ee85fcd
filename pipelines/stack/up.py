"""`pts up`: the stack in the foreground, with the job's progress, or started and left alone."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from rich.console import Console

from pipelines.io.processes import airflow
from pipelines.settings import Settings
from pipelines.stack import stack
from pipelines.stack.watch import AirflowIdle, AirflowReady, LogLine, StateChange
from pipelines.terminal.progress import show_line


def run(services: Sequence[str], settings: Settings, *, detach: bool, console: Console) -> None:
    """Starts services. In the foreground it stays until Ctrl-C or SIGTERM, then stops everything and returns.

    A stack that already runs belongs to whoever started it: what it lacks is started, and this returns.

    Raises `StackError` when a service ends with an error; then the rest is stopped.
    """

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    if detach or stack.is_running(settings):
        stack.start(services, settings, say)
        say("Running. `pts status` shows it, `pts down` stops it.")
        return
    with suppress(KeyboardInterrupt), stack.running(services, settings, say) as watch:
        for event in chain.from_iterable(watch):
            match event:
                case LogLine(text):
                    show_line(text, console)
                case AirflowIdle(remark):
                    say(remark)
                case AirflowReady():
                    say(f"Airflow is ready at {airflow.url(settings)}.")
                case StateChange(service, remark):
                    say(f"{service.name}: {service.state}" + (f", process {service.pid}" if service.pid else ""))
                    if remark:
                        say(remark)
    say("Stopped.")
