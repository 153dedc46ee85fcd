"""Observers of the live job, `pts seal` and the SQL server, as the settings ask for them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pipelines.commands import Seal, Stream
from pipelines.io.kafka.connection import Connection
from pipelines.io.spark import thrift_server
from pipelines.observability.lag_group import LagGroup
from pipelines.observability.sealed_batch import SealObserver
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


@contextmanager
def sql_observers(settings: Settings) -> Iterator[Sequence[thrift_server.Observer]]:
    """Observers of the SQL server, for as long as the block lasts."""
    if not settings.metrics.sql_port:
        yield []
        return
    from pipelines.observability.sql_metrics import SqlMetrics
    from pipelines.web.metrics_endpoint import metrics_endpoint

    counted = SqlMetrics()
    with metrics_endpoint(settings.metrics.sql_port, counted.registry, "Set PTS_METRICS__SQL_PORT."):
        yield [counted]


@contextmanager
def seal_observers(settings: Settings, command: Seal) -> Iterator[Sequence[SealObserver]]:
    """Observers of `pts seal`, for as long as the block lasts."""
    with ExitStack() as stack:
        watching: list[SealObserver] = []
        if port := settings.metrics.seal_port:
            from pipelines.observability.seal_metrics import SealMetrics
            from pipelines.web.metrics_endpoint import metrics_endpoint

            counted = SealMetrics()
            stack.enter_context(metrics_endpoint(port, counted.registry, "Set PTS_METRICS__SEAL_PORT."))
            watching.append(counted)
        if settings.lineage.enabled:
            from pipelines.observability.job_lineage import SealLineage

            watching.append(stack.enter_context(SealLineage(command, settings)))
        yield watching
