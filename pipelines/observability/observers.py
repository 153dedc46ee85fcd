"""Those who watch the live job, as the settings ask for them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pipelines.commands import Stream
from pipelines.io.kafka.connection import Connection
from pipelines.observability.lag_group import LagGroup
from pipelines.settings import Settings
from pipelines.state.ledger import Observer


@contextmanager
def observers(settings: Settings, command: Stream) -> Iterator[Sequence[Observer]]:
    """Observers of the live job, for as long as the block lasts."""
    with ExitStack() as stack:
        watching: list[Observer] = []
        if group := settings.kafka.lag_group:
            watching.append(stack.enter_context(LagGroup(Connection.of(settings), group)))
        if port := settings.metrics.port:
            from pipelines.observability.job_metrics import JobMetrics
            from pipelines.web.metrics_endpoint import metrics_endpoint

            counted = stack.enter_context(JobMetrics(settings.lake_root))
            stack.enter_context(metrics_endpoint(port, counted.registry, "Set PTS_METRICS__PORT."))
            watching.append(counted)
        if settings.lineage.enabled:
            from pipelines.observability.job_lineage import JobLineage

            watching.append(stack.enter_context(JobLineage(command, settings)))
        yield watching
