"""A command that asks the live job, without files and a second process."""

import threading
from collections.abc import Callable

from pipelines.commands import ReplayPromote
from pipelines.settings import Settings
from pipelines.state.handover import Handover, HandoverRequest
from pipelines.state.replay_records import Promoted
from pipelines.state.writer_lease import WriterLease


class FakeHandover(Handover):
    """Asks whenever it is looked at.

    Args:
        settings: Of the lake.
        command: What the command delegates; None when it wants the lease.
        with_the_lease: What the command does once it has it; it is given the stop of the job.
    """

    def __init__(
        self,
        settings: Settings,
        command: ReplayPromote | None,
        with_the_lease: Callable[[threading.Event], None] = lambda _stop: None,
    ) -> None:
        super().__init__(WriterLease(settings.lake_root))
        self._waiting = HandoverRequest(command=command)
        self._with_the_lease = with_the_lease

    @property
    def request(self) -> HandoverRequest:
        return self._waiting

    def do(self, request: HandoverRequest, work: Callable[[], Promoted]) -> None:
        work()

    def hand_over(self, stop: threading.Event) -> bool:
        self._with_the_lease(stop)
        return not stop.is_set()
