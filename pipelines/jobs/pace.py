"""When do the tables move that need not move with every batch?"""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from pipelines.io.kafka_log import OffsetRange, Offsets


class Pace:
    """Decides for each batch of a running job which paces are due.

    In the job's first batch all are. So a batch that was cut off, which its next start repeats, runs every flow that it
    may have run before, over the same part of the log, and what stands is recognised.

    In a batch that reaches the end of the log all are, too: a table that waits has records after its position, so there
    will be a next batch.

    Args:
        end: Where the log ends now, or where the job ends.
        clock: Seconds.
    """

    def __init__(self, end: Callable[[], Offsets], clock: Callable[[], float] = time.monotonic) -> None:
        self._end = end
        self._clock = clock
        self._last_ran: dict[timedelta, float] = {}

    def is_due(self, every: timedelta, ranges: Iterable[OffsetRange]) -> bool:
        """Whether flows that run `every` so often run in the batch that reads `ranges`."""
        now, last = self._clock(), self._last_ran.get(every)
        due = last is None or now - last >= every.total_seconds() or self._is_at_end(ranges)
        if due:
            self._last_ran[every] = now
        return due

    def _is_at_end(self, ranges: Iterable[OffsetRange]) -> bool:
        end = self._end()
        return all(part.end >= end[part.topic][part.partition] for part in ranges)
