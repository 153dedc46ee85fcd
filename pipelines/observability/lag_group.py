"""The ledger's offsets, mirrored to a consumer group, so that tools that watch groups see the job's lag.

Nothing reads them back: where the job is, the ledger says.
"""

import threading
from collections.abc import Mapping
from typing import Self

from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.groups import commit_group_offsets
from pipelines.io.kafka.log import Offsets
from pipelines.observability.background import LAST_SECONDS, Failures
from pipelines.processes.last_threads import await_end
from pipelines.state.ledger import LedgerRow


class LagGroup:
    """Mirrors in a thread of its own the offsets of the newest batch, while it is entered; batches that come faster
    than a broker answers are left out. Of a failure, as of a missing right, standard error is told, once until another
    one.
    """

    def __init__(self, connection: Connection, group: str) -> None:
        self._connection = connection
        self._group = group
        self._news = threading.Condition()
        self._offsets: Offsets | None = None
        self._has_ended = False
        self._failures = Failures()
        self._mirroring = threading.Thread(target=self._mirror, name="lag-group", daemon=True)

    def __enter__(self) -> Self:
        self._mirroring.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._has_ended = True
            self._news.notify()
        await_end(self._mirroring, LAST_SECONDS)

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        with self._news:
            self._offsets = row.end_offsets
            self._news.notify()

    def _mirror(self) -> None:
        while (offsets := self._next()) is not None:
            with self._failures.told(f"the consumer group {self._group} does not follow the job, which goes on"):
                commit_group_offsets(self._connection, self._group, offsets)

    def _next(self) -> Offsets | None:
        """The newest offsets, once there are some; None at the end, when none are left."""
        with self._news:
            self._news.wait_for(lambda: self._offsets is not None or self._has_ended)
            offsets, self._offsets = self._offsets, None
            return offsets
