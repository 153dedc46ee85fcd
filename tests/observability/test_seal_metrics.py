"""What sealing tells Prometheus."""

import time

import pytest

from pipelines import metrics
from pipelines.observability.seal_metrics import SealMetrics
from pipelines.observability.sealed_batch import SealedBatch
from pipelines.web.instruments import exposition
from tests.exposed import documented, exposed, labels_of, samples

INTAKE = "ship-events-intake"


def test_batches_are_told_as_the_catalogue_says(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, now = SealMetrics(), 100.0
    monkeypatch.setattr(time, "time", lambda: now)
    counted.batch_done(
        SealedBatch({("ship-events", "understood"): 5, ("ship-events", "whole"): 1}, (), {(INTAKE, 0): 7})
    )
    now = 200.0
    counted.batch_done(
        SealedBatch({("ship-events", "understood"): 2, ("ship-routes", "cut"): 1}, (), {(INTAKE, 0): 5, (INTAKE, 1): 1})
    )
    now = 300.0
    counted.batch_done(SealedBatch({}, (), {(INTAKE, 1): 0}))
    found = exposition(counted.registry).decode()
    assert exposed(found) == documented(metrics.SEAL)
    assert labels_of(found) == {name: {frozenset(metric.labels)} for metric in metrics.SEAL for name in metric.samples}
    assert samples(found, metrics.SEALED_RECORDS) == {
        ("ship-events", "understood"): 7,
        ("ship-events", "whole"): 1,
        ("ship-events", "cut"): 0,
        ("ship-routes", "understood"): 0,
        ("ship-routes", "whole"): 0,
        ("ship-routes", "cut"): 1,
    }
    assert samples(found, metrics.SEAL_LAG) == {(INTAKE, "0"): 5, (INTAKE, "1"): 0}
    assert samples(found, metrics.LAST_SEALED_AT) == {(): 200}
