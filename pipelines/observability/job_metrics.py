"""The live job's metrics: counted from the ledger's rows as they come, and measured when somebody asks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pipelines import metrics
from pipelines.io.delta.lake import Lake
from pipelines.metrics import Metric
from pipelines.observability.background import Background, Failures
from pipelines.observability.freshness import Freshness
from pipelines.observability.replays import replay_progress
from pipelines.state.heartbeat import last_beat
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import NOT_IN_THE_LEDGER, OPS_BATCHES, TABLES
from pipelines.web.instruments import counter, histogram, measured

Measurements = Mapping[Metric, Sequence[tuple[tuple[str, ...], float]]]
"""Samples by the values of their labels."""

MEASURED = (
    *(metrics.LAG_RECORDS, metrics.LAG_SECONDS, metrics.HEARTBEAT, metrics.LAST_BATCH, metrics.LAST_BATCH_AT),
    *(metrics.POSITION, metrics.TABLE_FILES, metrics.TABLE_SIZE, metrics.REPLAY_PLANNED, metrics.REPLAY_DONE),
)


class JobMetrics(Collector):
    """Counts batches in a thread of its own while it is entered, so that no batch waits for it.

    What heartbeat, ledger, tables and replays tell is read when somebody asks, in that one's thread. Of a failure
    standard error is told, once until another one; the samples concerned are left out until it is mended.

    Attributes:
        registry: Has all metrics.
        freshness: Is told of each batch, and measures from records to tables.
    """

    def __init__(self, lake_root: str) -> None:
        self.registry = CollectorRegistry()
        self._root = lake_root
        self._lake = Lake(None, lake_root)
        self._records = counter(metrics.RECORDS, self.registry)
        self._duration = histogram(metrics.BATCH_DURATION, self.registry)
        self._phases = histogram(metrics.PHASE_DURATION, self.registry)
        self.freshness = Freshness(self._lake)
        self.registry.register(self.freshness)
        self.registry.register(self)
        self._last: LedgerRow | None = None
        self._batches = Background("metrics", self._count_batch)
        self._failures = Failures()

    def __enter__(self) -> Self:
        self._batches.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._batches.finish()

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        self._batches.put((row, seconds, phases))

    def _count_batch(self, told: tuple[LedgerRow, float, Mapping[str, float]]) -> None:
        with self._failures.told("metrics of batches are missing"):
            self._count(*told)

    def _count(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        self._last = row
        self._duration.observe(seconds)
        for phase, its_seconds in phases.items():
            self._phases.labels(phase).observe(its_seconds)
        for topic, count in row.counts.items():
            for outcome in metrics.OUTCOMES:
                self._records.labels(topic, outcome).inc(getattr(count, outcome))
        self.freshness.batch_done(row)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """What is measured now. A part that cannot be read has no samples."""
        families = {metric.name: measured(metric, ()) for metric in MEASURED}
        for name, read in (
            ("the heartbeat", self._of_the_heartbeat),
            ("the ledger", self._of_the_ledger),
            ("the tables", self._of_the_tables),
            ("the replays", self._of_the_replays),
        ):
            with self._failures.told(f"metrics of {name} are missing"):
                families |= {metric.name: measured(metric, samples) for metric, samples in read().items()}
        return families.values()

    def _of_the_heartbeat(self) -> Measurements:
        told = last_beat(self._root)
        if told is None:
            return {}
        return {
            metrics.LAG_RECORDS: [
                ((topic, partition), behind)
                for topic, partitions in told.get("lag_by_partition", {}).items()
                for partition, behind in partitions.items()
            ],
            metrics.LAG_SECONDS: [((), told["lag_seconds"])],
            metrics.HEARTBEAT: [((), told["at"].timestamp())],
        }

    def _of_the_ledger(self) -> Measurements:
        """Before the first batch of this process, as the ledger has it."""
        row = self._last or (Ledger(self._lake).last() if self._lake.exists(OPS_BATCHES) else None)
        if row is None:
            return {}
        return {
            metrics.LAST_BATCH: [((), row.batch_id)],
            metrics.LAST_BATCH_AT: [((), row.committed_at.timestamp())],
            metrics.POSITION: [((name,), state.position) for name, state in row.tables.items()],
        }

    def _of_the_tables(self) -> Measurements:
        there = [table for table in (*TABLES, *NOT_IN_THE_LEDGER) if self._lake.exists(table)]
        sizes = {table.name: self._lake.size(table) for table in there}
        return {
            metrics.TABLE_FILES: [((name,), files) for name, (files, _) in sizes.items()],
            metrics.TABLE_SIZE: [((name,), size) for name, (_, size) in sizes.items()],
        }

    def _of_the_replays(self) -> Measurements:
        found = replay_progress(self._root)
        return {
            metrics.REPLAY_PLANNED: [((name,), planned) for name, (planned, _) in found.items()],
            metrics.REPLAY_DONE: [((name,), done) for name, (_, done) in found.items()],
        }
