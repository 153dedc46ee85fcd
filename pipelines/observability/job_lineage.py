"""The lineage of what runs on and on: the live job, with the versions that its tables have, and `pts seal`."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from openlineage.client.event_v2 import RunState

from pipelines.commands import Command
from pipelines.observability.background import Background
from pipelines.observability.lineage import BatchesRunFacet, LineageRun, ended, merged
from pipelines.observability.sealed_batch import SealedBatch
from pipelines.settings import Settings
from pipelines.state.ledger import LedgerRow

B = TypeVar("B")


class ServiceLineage(ABC, Generic[B]):
    """Tells in a thread of its own, so that no batch waits for it: RUNNING now and then, with all batches since the
    event before; at the end how it ended.
    """

    def __init__(self, command: Command, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = LineageRun(command, settings)
        self._every_seconds = settings.lineage.every_seconds
        self._clock = clock
        self._told_at = clock()
        self._batches: list[B] = []
        self._events = Background("lineage", self._tell)

    def __enter__(self) -> Self:
        self._events.start()
        self._events.put((RunState.START, [], None))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        self._events.put((ended(error), self._batches, error))
        self._events.finish()

    @abstractmethod
    def facts(self, batches: Sequence[B]) -> dict[str, Any]:
        """What an event says of them, as `LineageRun.tell` takes it."""

    def _done(self, batch: B) -> None:
        self._batches.append(batch)
        if self._clock() - self._told_at >= self._every_seconds:
            self._events.put((RunState.RUNNING, self._batches, None))
            self._batches, self._told_at = [], self._clock()

    def _tell(self, event: tuple[RunState, list[B], BaseException | None]) -> None:
        state, batches, error = event
        self._run.tell(state, error=error, **self.facts(batches))


class JobLineage(ServiceLineage[LedgerRow]):
    """Lineage of the live job: offsets, rows of the ledger, and versions of tables."""

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        self._done(row)

    def facts(self, batches: Sequence[LedgerRow]) -> dict[str, Any]:
        if not batches:
            return {}
        return {
            "ranges": merged(
                (part.topic, part.partition, part.start, part.end) for row in batches for part in row.ranges
            ),
            "versions": {name: each.version for name, each in batches[-1].tables.items()},
            "facets": {"pts_batches": BatchesRunFacet(batches[0].batch_id, batches[-1].batch_id)},
        }


class SealLineage(ServiceLineage[SealedBatch]):
    """Lineage of `pts seal`: offsets of the intake topics."""

    def batch_done(self, batch: SealedBatch) -> None:
        if batch.ranges:
            self._done(batch)

    def facts(self, batches: Sequence[SealedBatch]) -> dict[str, Any]:
        return {"ranges": merged(part for batch in batches for part in batch.ranges)}
