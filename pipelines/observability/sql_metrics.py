"""The SQL server's metrics, counted as it tells of them."""

from prometheus_client import CollectorRegistry

from pipelines import metrics
from pipelines.web.instruments import counter, gauge, histogram


class SqlMetrics:
    """Queries by outcome and duration, and sessions. Outcomes that have not been are 0, and not missing."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._queries = counter(metrics.SQL_QUERIES, self.registry)
        self._duration = histogram(metrics.SQL_DURATION, self.registry)
        self._sessions = gauge(metrics.SQL_SESSIONS, self.registry)
        for outcome in metrics.QUERY_OUTCOMES:
            self._queries.labels(outcome)

    def query_ended(self, outcome: str, seconds: float | None) -> None:
        self._queries.labels(outcome).inc()
        if seconds is not None:
            self._duration.observe(seconds)

    def sessions_are(self, count: int) -> None:
        self._sessions.set(count)
