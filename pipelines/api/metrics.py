"""What is measured of the API: requests as they are answered, the rest when somebody asks."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pipelines import metrics
from pipelines.api.app import Service
from pipelines.web.instruments import measured
from pipelines.web.request_metrics import RequestMetrics


class ApiMetrics(Collector):
    """The metrics of a service. `requests` is told of its answers."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self.requests = RequestMetrics(self.registry, metrics.API_REQUESTS, metrics.API_DURATION)
        self._service = service
        self.registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """In the thread of who asks; each is one look at what the event loop's thread replaces as a whole."""
        hub, limits = self._service.hub, self._service.limits
        positions = [((str(partition),), offset) for partition, offset in hub.positions.items()]
        return [
            measured(metrics.API_STREAMS, [((), limits.streams)]),
            measured(metrics.API_POSITION, positions),
            measured(metrics.API_READY, [((), float(self._service.why_not_ready() is None))]),
        ]
