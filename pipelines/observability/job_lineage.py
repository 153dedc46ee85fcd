"""The live job's lineage: what it has read, and the versions that its tables have after it."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from openlineage.client.event_v2 import RunState

from pipelines.commands import Stream
from pipelines.observability.background import Background
from pipelines.observability.lineage import BatchesRunFacet, LineageRun, ended, merged
from pipelines.settings import Settings
from pipelines.state.ledger import LedgerRow

Event = tuple[RunState, list[LedgerRow], BaseException | None]


class JobLineage:
    """Tells in a thread of its own, so that no batch waits for it: RUNNING now and then, with all batches since the
    event before; at the end how it ended.
    """

    def __init__(self, command: Stream, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = LineageRun(command, settings)
        self._every_seconds = settings.lineage.every_seconds
        self._clock = clock
        self._told_at = clock()
        self._rows: list[LedgerRow] = []
        self._events = Background("lineage", self._tell)

    def __enter__(self) -> Self:
        self._events.start()
        self._events.put((RunState.START, [], None))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        self._events.put((ended(error), self._rows, error))
        self._events.finish()

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        self._rows.append(row)
        if self._clock() - self._told_at >= self._every_seconds:
            self._events.put((RunState.RUNNING, self._rows, None))
            self._rows, self._told_at = [], self._clock()

    def _tell(self, event: Event) -> None:
        state, rows, error = event
        parts = [(part.topic, part.partition, part.start, part.end) for row in rows for part in row.ranges]
        self._run.tell(
            state,
            ranges=merged(parts),
            versions={name: each.version for name, each in rows[-1].tables.items()} if rows else None,
            error=error,
            facets={"pts_batches": BatchesRunFacet(rows[0].batch_id, rows[-1].batch_id)} if rows else None,
        )
