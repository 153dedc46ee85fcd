"""What a query of Prometheus asks for, against the catalogue of metrics. No parser: names, selectors and groupings."""

import re
from collections.abc import Iterator

from pipelines.metrics import (
    METRICS,
    OUTCOMES,
    PHASE_DURATION,
    PHASES,
    QUERY_OUTCOMES,
    RECORDS,
    SEAL_OUTCOMES,
    SEALED_RECORDS,
    SQL_QUERIES,
    Metric,
)

BY_SAMPLE = {name: metric for metric in METRICS for name in metric.samples}
OF_TARGETS = {"job", "instance"}
"""Labels that each scraped sample has, and the metric `up`."""

VALUES = {
    (RECORDS, "outcome"): OUTCOMES,
    (PHASE_DURATION, "phase"): PHASES,
    (SQL_QUERIES, "outcome"): QUERY_OUTCOMES,
    (SEALED_RECORDS, "outcome"): SEAL_OUTCOMES,
}

SELECTOR = re.compile(r"\b(pts_\w+|up)\b(?:\s*\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")
OF_COUNTERS = re.compile(r"\b(?:rate|irate|increase)\s*\(\s*(\w+)")
SHOWN = re.compile(r"\$labels\.(\w+)|\{\{\s*(\w+)\s*\}\}")


def faults(query: str) -> list[str]:
    """What of a query names nothing that is exposed."""
    return list(_faults(query))


def _faults(query: str) -> Iterator[str]:
    asked = [(name, matchers or "") for name, matchers in SELECTOR.findall(query)]
    if not asked:
        yield f"{query}: no metric"
    for name, matchers in asked:
        if name != "up" and name not in BY_SAMPLE:
            yield f"{name}: no such metric"
            continue
        for label, value in MATCHER.findall(matchers):
            if label not in labels(name):
                yield f"{name}: no label {label}"
            if name in BY_SAMPLE and value not in VALUES.get((BY_SAMPLE[name], label), [value]):
                yield f"{name}: {label} is never {value}"
    known = {label for name, _ in asked if name == "up" or name in BY_SAMPLE for label in labels(name)}
    for grouping in GROUPING.findall(query):
        yield from (f"no label {label}" for label in re.findall(r"\w+", grouping) if label not in known)
    for name in OF_COUNTERS.findall(query):
        if name in BY_SAMPLE and BY_SAMPLE[name].kind == "gauge":
            yield f"{name}: a gauge has no rate"


def labels(sample: str) -> set[str]:
    """The labels of a sample by its name."""
    metric: Metric | None = BY_SAMPLE.get(sample)
    own = set(metric.labels) if metric else set()
    return own | OF_TARGETS | ({"le"} if sample.endswith("_bucket") else set())


def labels_left(query: str) -> set[str]:
    """The labels that a query's result may have, for a legend or a sentence."""
    grouped = re.findall(r"\b(?:sum|max|min|avg)\s+by\s*\(([^)]*)\)", query)
    if grouped:
        return {label for each in grouped for label in re.findall(r"\w+", each)} - {"le"}
    return {label for name, _ in SELECTOR.findall(query) for label in labels(name)}


def shown(text: str) -> set[str]:
    """The labels that a legend or a sentence fills in."""
    return {first or second for first, second in SHOWN.findall(text)} - {"$value"}
