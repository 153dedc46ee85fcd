"""`pts up`: the stack in the foreground, with the job's progress, or started and left alone."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Protocol

from pipelines.settings import Settings
from pipelines.stack import stack
from pipelines.stack.watch import Event


class Screen(Protocol):
    """Shows what happens."""

    def say(self, text: str) -> None:
        """Shows a sentence."""

    def event(self, event: Event) -> None:
        """Shows what happened in the stack."""


def run(services: Sequence[str], settings: Settings, screen: Screen, *, detach: bool) -> None:
    """Starts services. In the foreground it stays until Ctrl-C or SIGTERM, then stops everything and returns.

    A stack that already runs belongs to whoever started it: what it lacks is started, and this returns.

    Raises `StackError` when a service ends with an error; then the rest is stopped.
    """
    if detach or stack.is_running(settings):
        stack.start(services, settings, screen.say)
        screen.say("Running. `pts status` shows it, `pts down` stops it.")
        return
    with suppress(KeyboardInterrupt), stack.running(services, settings, screen.say) as watch:
        for event in chain.from_iterable(watch):
            screen.event(event)
    screen.say("Stopped.")
