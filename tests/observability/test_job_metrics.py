"""What the job tells Prometheus: of the ledger's rows, and of what lies in the lake."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines import metrics
from pipelines.io.delta.lake import Lake
from pipelines.observability.job_metrics import JobMetrics
from pipelines.state.heartbeat import beat
from pipelines.state.ledger import Ledger, LedgerRow, TableState
from pipelines.tables import GOLD_REMAINING_STOPS, SILVER_SHIP_EVENTS, TABLES
from pipelines.web.instruments import exposition
from tests.exposed import documented, exposed, labels_of, samples
from tests.healthy_lake import BATCHES, HealthyLake, healthy_lake

PHASES = {"records": 0.5, "catch_up": 0.25, "ledger": 0.125}
LAST = len(BATCHES) - 1


@pytest.fixture
def spoilt() -> HealthyLake:
    return healthy_lake()


@pytest.fixture
def root(tmp_path: Path) -> str:
    healthy_lake().write(tmp_path)
    return str(tmp_path)


def last_row(root: str) -> LedgerRow:
    row = Ledger(Lake(None, root)).last()
    assert row is not None
    return row


def text(made: JobMetrics) -> str:
    return exposition(made.registry).decode()


@contextmanager
def counted(root: str, *rows: LedgerRow) -> Iterator[JobMetrics]:
    """Metrics that have counted these rows, and go on to be asked."""
    with JobMetrics(root) as made:
        for row in rows:
            made.batch_done(row, 1.5, PHASES)
    yield made


def test_exposed_are_the_metrics_of_the_catalogue_and_no_others(root: str) -> None:
    beat(root, {"at": datetime.now(UTC).isoformat(), "lag_seconds": 0.0, "lag_by_partition": {"ship-events": {0: 0}}})
    (folder := Path(root, "_shadow", "one")).mkdir(parents=True)
    (folder / "replay.json").write_text(REPLAY)
    with counted(root, last_row(root)) as made:
        found = text(made)
    assert exposed(found) == documented(metrics.JOB)
    assert labels_of(found) == {name: {frozenset(metric.labels)} for metric in metrics.JOB for name in metric.samples}


def test_lake_without_anything_has_no_samples_and_nothing_to_complain_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with counted(str(tmp_path)) as made:
        assert labels_of(text(made)).keys() == {
            name for metric in (metrics.BATCH_DURATION, metrics.FRESHNESS) for name in metric.samples
        }
    assert capsys.readouterr().err == ""


def test_records_of_batches_are_counted_by_what_became_of_them(root: str) -> None:
    row = last_row(root)
    with counted(root, row, row) as made:
        found = text(made)
    assert samples(found, metrics.RECORDS) == {
        (topic, outcome): 2 * getattr(count, outcome)
        for topic, count in row.counts.items()
        for outcome in metrics.OUTCOMES
    }
    assert samples(found, metrics.BATCH_DURATION, "_sum") == {(): 3.0}
    assert samples(found, metrics.PHASE_DURATION, "_sum") == {(name,): 2 * each for name, each in PHASES.items()}


def test_last_batch_and_positions_are_those_of_the_ledger_also_before_the_first_batch(root: str) -> None:
    with counted(root) as made:
        found = text(made)
    row = last_row(root)
    assert samples(found, metrics.LAST_BATCH) == {(): LAST}
    assert samples(found, metrics.LAST_BATCH_AT) == {(): row.committed_at.timestamp()}
    assert samples(found, metrics.POSITION) == {(name,): state.position for name, state in row.tables.items()}
    with counted(root, replace(row, batch_id=9)) as made:
        assert samples(text(made), metrics.LAST_BATCH) == {(): 9}


def test_sizes_are_those_of_the_newest_versions(root: str) -> None:
    with counted(root) as made:
        found = text(made)
    rows = healthy_lake().tables
    assert samples(found, metrics.TABLE_FILES) == {(table.name,): bool(rows[table.name]) for table in TABLES}
    newest = max(Path(root, SILVER_SHIP_EVENTS.folder).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert samples(found, metrics.TABLE_SIZE)[SILVER_SHIP_EVENTS.name,] == newest.stat().st_size


def test_lag_is_that_of_the_heartbeat(root: str) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    behind = {"ship-events": {0: 5, 1: 0}, "ship-routes": {0: 2}}
    beat(root, {"at": at.isoformat(), "lag_records": 7, "lag_seconds": 1.5, "lag_by_partition": behind})
    with counted(root) as made:
        found = text(made)
    assert samples(found, metrics.LAG_RECORDS) == {
        ("ship-events", "0"): 5,
        ("ship-events", "1"): 0,
        ("ship-routes", "0"): 2,
    }
    assert samples(found, metrics.LAG_SECONDS) == {(): 1.5}
    assert samples(found, metrics.HEARTBEAT) == {(): at.timestamp()}


def test_record_is_as_old_as_it_was_when_its_report_showed_it(root: str, spoilt: HealthyLake) -> None:
    row = last_row(root)
    rows = spoilt.later[SILVER_SHIP_EVENTS.name]  # the commit of the last batch has all of them
    ages = [row.committed_at.timestamp() - each["kafka_timestamp"] / 1e6 for each in rows]
    with counted(root, row) as made:
        found = text(made)
    assert samples(found, metrics.FRESHNESS, "_count") == {(): len(ages)}
    assert samples(found, metrics.FRESHNESS, "_sum")[()] == pytest.approx(sum(ages))
    buckets = samples(found, metrics.FRESHNESS, "_bucket")
    assert buckets["+Inf",] == len(ages)
    for bound in metrics.FRESHNESS.buckets:
        assert buckets[str(bound),] == sum(age <= bound for age in ages)


def test_record_whose_report_waits_is_counted_when_it_is_shown(root: str) -> None:
    """A large `gold.remaining_stops` takes several batches at once."""
    row, reports = last_row(root), GOLD_REMAINING_STOPS.name
    waiting = replace(row, tables={**row.tables, reports: TableState(0, row.batch_id - 1)})
    nothing = {topic: replace(count, accepted=0) for topic, count in row.counts.items()}
    shown = replace(row, batch_id=row.batch_id + 1, counts=nothing)
    with counted(root, waiting) as made:
        assert samples(text(made), metrics.FRESHNESS, "_count") == {(): 0}
    with counted(root, waiting, shown, shown) as made:
        assert samples(text(made), metrics.FRESHNESS, "_count")[()] > 0
        once = samples(text(made), metrics.FRESHNESS, "_count")
    with counted(root, row) as made:
        assert samples(text(made), metrics.FRESHNESS, "_count") == once


REPLAY = json.dumps(
    {
        "replay_id": "one",
        "created_at": "2026-03-01T00:00:00Z",
        "fence": 1,
        "begin": {"ship-events": {"0": 1, "1": 0}, "ship-routes": {"0": 0}},
        "steps": [
            {"end": {"ship-events": {"0": 3, "1": 2}, "ship-routes": {"0": 1}}, "batch_id": 0},
            {"end": {"ship-events": {"0": 100, "1": 100}, "ship-routes": {"0": 100}}, "batch_id": 4},
        ],
        "max_records": 10,
        "code": "0",
    }
)


def test_replay_has_done_what_its_own_ledger_says(root: str) -> None:
    (folder := Path(root, "_shadow", "one")).mkdir(parents=True)
    (folder / "replay.json").write_text(REPLAY)
    with counted(root) as made:
        assert samples(text(made), metrics.REPLAY_PLANNED) == {("one",): 299}
        assert samples(text(made), metrics.REPLAY_DONE) == {("one",): 0}
        healthy_lake().write(folder)
        read = sum(part.end for part in last_row(str(folder)).ranges)
        assert samples(text(made), metrics.REPLAY_DONE) == {("one",): read - 1}


def test_what_cannot_be_read_is_left_out_told_once_and_told_again_after_it_was_mended(
    root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := Path(root, "_shadow", "one")).mkdir(parents=True)
    (record := folder / "replay.json").write_text("{}")
    with counted(root) as made:
        for _ in range(2):
            found = text(made)
            assert samples(found, metrics.REPLAY_PLANNED) == {}
            assert samples(found, metrics.LAST_BATCH) == {(): LAST}
        record.write_text(REPLAY)
        text(made)
        record.write_text("{}")
        text(made)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(line.startswith("pts: warning: metrics of the replays are missing: ") for line in told)


def test_batch_that_cannot_be_counted_holds_up_no_batch_and_not_the_next_one(
    root: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row, is_counting, may_go_on = last_row(root), threading.Event(), threading.Event()

    def observe(_row: LedgerRow) -> None:
        is_counting.set()
        assert may_go_on.wait(20)
        raise OSError("a disk")

    with JobMetrics(root) as made:
        monkeypatch.setattr(made.freshness, "batch_done", observe)
        made.batch_done(row, 1.0, PHASES)
        assert is_counting.wait(20)
        made.batch_done(row, 1.0, PHASES)  # returns, while the first is not counted
        may_go_on.set()
    assert samples(text(made), metrics.BATCH_DURATION, "_count") == {(): 2}
    assert capsys.readouterr().err.count("pts: warning: metrics of batches are missing: OSError('a disk')") == 1
