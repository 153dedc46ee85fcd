"""Metrics of the catalogue as the Prometheus client has them, and their exposition."""

from collections.abc import Iterable

import prometheus_client as prometheus
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from pipelines.metrics import Metric

CONTENT_TYPE = prometheus.CONTENT_TYPE_LATEST

prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # they would be names that no catalogue has


def counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name, metric.doc, metric.labels, registry=registry)


def gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    return Gauge(metric.name, metric.doc, metric.labels, registry=registry)


def histogram(metric: Metric, registry: CollectorRegistry) -> Histogram:
    return Histogram(metric.name, metric.doc, metric.labels, buckets=metric.buckets, registry=registry)


def measured(metric: Metric, samples: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    """A gauge whose samples were measured just now: by the values of its labels."""
    family = GaugeMetricFamily(metric.name, metric.doc, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def exposition(registry: CollectorRegistry) -> bytes:
    """All samples, as text of `CONTENT_TYPE`."""
    return prometheus.generate_latest(registry)
