"""What a `/metrics` exposes, as the catalogue would have it."""

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from pipelines.metrics import Metric

Samples = dict[tuple[str, ...], float]


def exposed(text: str) -> dict[str, tuple[str, str]]:
    """Type and meaning of each metric, by its name."""
    found = {}
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = (family.type, family.documentation)
    return found


def documented(metrics: Iterable[Metric]) -> dict[str, tuple[str, str]]:
    """The same of a catalogue."""
    return {metric.name: (metric.kind, metric.doc) for metric in metrics}


def labels_of(text: str) -> dict[str, set[frozenset[str]]]:
    """By the names of samples: the labels that they have, without a bucket's bound."""
    found: dict[str, set[frozenset[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).add(frozenset(sample.labels) - {"le"})
    return found


def samples(text: str, metric: Metric, part: str = "") -> Samples:
    """The samples of a metric by their labels; of a histogram, those of a part: `_count`, `_sum`, `_bucket`."""
    names = (*metric.labels, "le") if part == "_bucket" else metric.labels
    return {
        tuple(sample.labels[name] for name in names): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"{metric.name}{part}"
    }
