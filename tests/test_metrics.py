"""The catalogue of metrics keeps Prometheus' conventions (https://prometheus.io/docs/practices/naming/)."""

import inspect
import re
import subprocess
import sys

import pytest

from pipelines.engine.micro_batch import MicroBatch
from pipelines.metrics import (
    METRICS,
    PHASE_DURATION,
    PHASES,
    QUERY_OUTCOMES,
    RECORDS,
    SEAL_OUTCOMES,
    SEALED_RECORDS,
    SQL_QUERIES,
    Metric,
)
from pipelines.state.ledger import Counts

BASE_UNITS = ("seconds", "bytes")
OTHER_UNITS = ("milliseconds", "ms", "minutes", "hours", "mb", "mib", "kib", "percent")
RESERVED = ("_bucket", "_sum", "_count", "_created", "_info")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metric_is_named_as_is_usual(metric: Metric) -> None:
    assert re.fullmatch(r"pts(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert not metric.name.endswith(RESERVED)
    assert set(metric.name.split("_")).isdisjoint(OTHER_UNITS)
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert metric.kind != "histogram" or metric.name.endswith(BASE_UNITS)
    assert metric.doc.endswith(".")
    assert all(re.fullmatch(r"[a-z]+", label) for label in metric.labels)


def test_no_two_metrics_have_one_name() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)


def test_docs_name_every_outcome_and_phase() -> None:
    """Phases are the engine's, outcomes the ledger's."""
    assert {"accepted", "duplicate", "quarantined"} == set(Counts.__dataclass_fields__) - {"read"}
    assert all(name in RECORDS.doc for name in ("accepted", "duplicate", "quarantined"))
    assert all(name in SQL_QUERIES.doc for name in QUERY_OUTCOMES)
    assert all(name in SEALED_RECORDS.doc for name in SEAL_OUTCOMES)
    assert set(PHASES) == set(re.findall(r'_timed\("(\w+)"\)', inspect.getsource(MicroBatch)))
    assert all(name in PHASE_DURATION.doc for name in PHASES)


LOAD = """
import sys
import pipelines.cli.main
from pipelines.commands import Seal, Stream
from pipelines.observability.observers import observers, seal_observers, sql_observers
from pipelines.settings import Kafka, Settings
with observers(Settings(kafka=Kafka(lag_group="")), Stream()) as watching:
    assert not watching
with seal_observers(Settings(), Seal()) as watching:
    assert not watching
with sql_observers(Settings()) as watching:
    assert not watching
import pipelines.api.server
print({"prometheus_client", "openlineage"} & set(sys.modules))
"""


def test_nobody_who_has_neither_metrics_nor_lineage_loads_their_clients() -> None:
    told = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
