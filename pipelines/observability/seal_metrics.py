"""The metrics of `pts seal`, counted as its batches are committed."""

import time

from prometheus_client import CollectorRegistry

from pipelines import metrics
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.observability.sealed_batch import SealedBatch
from pipelines.web.instruments import counter, gauge


class SealMetrics:
    """Records by topic and outcome, what waits, and when something was moved. Outcomes that have not been are 0, and
    not missing: the first cut record is an increase.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._records = counter(metrics.SEALED_RECORDS, self.registry)
        self._lag = gauge(metrics.SEAL_LAG, self.registry)
        self._last = gauge(metrics.LAST_SEALED_AT, self.registry)
        for topic in INPUT_TOPICS:
            for outcome in metrics.SEAL_OUTCOMES:
                self._records.labels(topic.name, outcome)

    def batch_done(self, batch: SealedBatch) -> None:
        for (topic, outcome), count in batch.records.items():
            self._records.labels(topic, outcome).inc(count)
        for (topic, partition), behind in batch.behind.items():
            self._lag.labels(topic, str(partition)).set(behind)
        if batch.records:
            self._last.set(time.time())
