"""When records are due: a feed in smooth slices, at a rate of wall-clock time."""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from math import inf

from pipelines.simulation.record import Record

SLICE_SECONDS = 0.01
LARGEST_SLICE = 1_000
"""Bounds what is handed over between two looks at the clock, also when catching up after a stall."""


def slices(
    records: Iterator[Record],
    rate: float,
    duration_seconds: float | None,
    stopped: Callable[[float], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[list[Record]]:
    """Slices of `records`, in all `rate` per second since the start, until they end or the duration is over.

    Args:
        records: What is to be paced.
        rate: Records per second; 0: as fast as they are taken.
        duration_seconds: None: until the records end.
        stopped: Waits so many seconds and says whether to stop now, like `threading.Event.wait`.
        clock: Seconds that only rise.
    """
    end = inf if duration_seconds is None else duration_seconds
    started = clock()
    released = 0
    pause = 0.0
    while not stopped(pause):
        elapsed = min(clock() - started, end)
        due = elapsed * rate - released if rate else (inf if elapsed < end else 0.0)
        wanted = int(min(due, LARGEST_SLICE))
        part = list(islice(records, wanted))
        if part:
            yield part
        released += len(part)
        if len(part) < wanted or elapsed >= end:
            return
        pause = SLICE_SECONDS if due < LARGEST_SLICE else 0.0
