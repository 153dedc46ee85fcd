"""From a record's time on the log to the moment at which its report shows it."""

import threading
from collections.abc import Iterable
from contextlib import closing

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from pipelines.graph import NEW_ROUTES, NEW_SCANS
from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import TableLog
from pipelines.metrics import FRESHNESS
from pipelines.state.ledger import LedgerRow
from pipelines.tables import GOLD_REMAINING_STOPS, Table

IN_BUCKETS = f"""
    SELECT count(*), coalesce(sum(seconds), 0), {", ".join(f"count_if(seconds <= {le})" for le in FRESHNESS.buckets)}
    FROM (SELECT epoch($1::TIMESTAMPTZ - kafka_timestamp) AS seconds FROM ({{rows}}))
"""


class Freshness(Collector):
    """A histogram of accepted records, filled from the files that their batch added to silver: one column of them.

    A batch is looked at when `gold.remaining_stops` is up to it, which a large one is some batches later.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._waiting: list[tuple[int, Table, int]] = []
        """Batch, table and version of what gold does not show yet."""
        self._lock = threading.Lock()
        """Of the three below, which are read by another thread."""
        self._count, self._sum = 0, 0.0
        self._buckets = [0] * len(FRESHNESS.buckets)

    def batch_done(self, row: LedgerRow) -> None:
        """Takes in a batch. Raises what reading its files does."""
        for new in (NEW_SCANS, NEW_ROUTES):
            if row.counts[new.topic.name].accepted:
                self._waiting.append((row.batch_id, new.table, row.tables[new.table.name].version))
        shown = [each for each in self._waiting if each[0] <= row.tables[GOLD_REMAINING_STOPS.name].position]
        self._waiting = [each for each in self._waiting if each not in shown]
        for _, table, version in shown:
            self._observe(row, table, version)

    def _observe(self, row: LedgerRow, table: Table, version: int) -> None:
        change = TableLog(self._lake.path(table)).change(version)
        assert change is not None, "it was made by a batch that has accepted records"
        with closing(duck.cursor()) as cursor:
            sql = IN_BUCKETS.format(rows=self._lake.added([change], table))
            ((count, total, *buckets),) = cursor.execute(sql, [row.committed_at]).fetchall()
        with self._lock:
            self._count += count
            self._sum += total
            self._buckets = [before + more for before, more in zip(self._buckets, buckets, strict=True)]

    def collect(self) -> Iterable[HistogramMetricFamily]:
        with self._lock:
            counts, total = [*self._buckets, self._count], self._sum
        bounds = [*map(str, FRESHNESS.buckets), "+Inf"]
        family = HistogramMetricFamily(FRESHNESS.name, FRESHNESS.doc)
        family.add_metric([], list(zip(bounds, counts, strict=True)), total)
        return [family]
