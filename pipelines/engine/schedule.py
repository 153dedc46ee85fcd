"""When do the tables catch up that need not move with every batch?"""

import math
import time
from collections.abc import Callable

from pipelines.engine.batch import END_OF_DEFERRAL, CatchUp, LogPosition
from pipelines.graph import CATCH_UP_GROUPS, DEFERRED_WHEN_LARGE
from pipelines.state.ledger import LedgerRow

SMALL_ROWS = 500_000
ROWS_FOR_EACH_NEW = 50


def pays(row_count: int, new_count: int) -> bool:
    """Whether a batch rewrites a table's files for the rows that are new to it, rather than a later one for more."""
    return row_count <= max(SMALL_ROWS, ROWS_FOR_EACH_NEW * new_count)


def is_deferred(row: LedgerRow) -> bool:
    """Whether a large table waited after a batch."""
    states = (row.tables[name] for name in DEFERRED_WHEN_LARGE if name in row.tables)
    return any(state.position < row.batch_id for state in states)


class CatchUpSchedule:
    """Decides for each batch of a running job which of the catch-up tables it brings up.

    One catch-up round brings all of them to the same batch, the last before it begins, so that there are consistent
    batches. It has a batch for each group. The first round begins one interval after the start. Where a large table has
    been deferred, one batch more comes first, which brings that one up to itself.

    Args:
        interval_seconds: Seconds between the beginnings of two rounds.
        clock: Seconds.
    """

    def __init__(self, interval_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_seconds, self._clock = interval_seconds, clock
        self._up_to: LogPosition | None = None
        self._left: list[str] = []
        self._began = clock()

    def is_due(self, last: LedgerRow | None) -> bool:
        """Whether tables wait, and have waited long enough, after the ledger's last row."""
        if last is None or self._clock() - self._began < self._interval_seconds:
            return False
        return any(state.position < last.batch_id for state in last.tables.values())

    def next(self, last: LedgerRow | None) -> CatchUp | None:
        """What the batch after the ledger's last row brings up."""
        if not self._left and last and self.is_due(last):
            if is_deferred(last):
                return END_OF_DEFERRAL
            self.restart()
            self._up_to, self._left = LogPosition.of(last), list(CATCH_UP_GROUPS)
        if not self._left or self._up_to is None:
            return None
        return CatchUp((self._left.pop(0),), self._up_to)

    def restart(self, *, is_due: bool = False) -> None:
        """After others had the tables: what is left of a round might bring them back. Begins at once if it is due."""
        self._left, self._began = [], -math.inf if is_due else self._clock()
