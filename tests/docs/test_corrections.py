"""Corrections of history, as the pages say, on a real broker."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.errors import UndeclaredDifference
from pipelines.graph import FLOWS
from pipelines.io.duckdb.reader import LakeReader
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.brokers import drain, empty_log
from tests.calling import Call
from tests.docs.conftest import Documented
from tests.integration.pts_process import settings_of
from tests.planted import planted

pytestmark = [pytest.mark.long, pytest.mark.integration]

FEED = commands.Simulate(seed=3, packages=150, rate=0, count=3_000, start=datetime(2026, 1, 1, 6, tzinfo=UTC))
DAY = "epoch_us(%s) < epoch_us(TIMESTAMPTZ '2026-01-02 00:00:00+00')"


@pytest.fixture(scope="module")
def wrong(broker: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A lake whose hours count every scan twice."""
    with empty_log(broker, tmp_path_factory.mktemp("wrong")) as settings:
        simulate.run(FEED, settings)
        drain(spark, settings, planted(FLOWS, {"carrier_throughput": {"scan_count": "2 * scan_count"}}))
        yield settings


@pytest.fixture
def lake(wrong: Settings, documented: Documented, request: pytest.FixtureRequest) -> str:
    """The root of a copy of that lake, to which the page's commands go."""
    documented.environment |= settings_of(wrong, request.node.name)
    root = documented.environment["PTS_LAKE"]
    shutil.copytree(wrong.lake_root, root)
    return root


def counted(root: str) -> tuple[int, int]:
    """Scans in gold.carrier_throughput, and scans."""
    counts = "SELECT (SELECT sum(scan_count) FROM gold.carrier_throughput), (SELECT count(*) FROM silver.ship_events)"
    return tuple(map(int, LakeReader(root).query(counts).to_pylist()[0].values()))  # type: ignore[return-value]


def test_correction_of_the_readme_replaces_exactly_what_was_wrong(documented: Documented, lake: str) -> None:
    twice, scans = counted(lake)
    assert twice == 2 * scans
    assert "checks held" in documented.run(".venv/bin/pts replay build")
    assert counted(lake) == (scans, scans)


def test_rule_is_corrected_and_taken_back_as_the_page_says(documented: Documented, lake: str, call: Call) -> None:
    _, scans = counted(lake)
    assert "Disk:" in documented.call(".venv/bin/pts replay plan", call)
    documented.call(".venv/bin/pts replay build", call)
    assert "scan_count" in documented.call(".venv/bin/pts replay compare", call, code=UndeclaredDifference.exit_code)
    documented.call(".venv/bin/pts replay compare", call)
    assert counted(lake) == (scans, scans)
    assert "Dropped fix" in documented.call(".venv/bin/pts replay rollback", call)
    assert counted(lake) == (2 * scans, scans)


def test_day_is_backfilled_as_the_page_says(documented: Documented, lake: str, call: Call) -> None:
    documented.call(".venv/bin/pts backfill", call)
    of_the_day = (
        f"SELECT (SELECT sum(scan_count) FROM gold.carrier_throughput WHERE {DAY % 'window_start'}) AS counted, "
        f"(SELECT count(*) FROM silver.ship_events WHERE {DAY % 'occurred_at'}) AS scans"
    )
    (found,) = LakeReader(lake).query(of_the_day).to_pylist()
    assert found["counted"] == found["scans"] > 0


def test_quarantine_is_redriven_as_the_page_says(documented: Documented, lake: str, call: Call) -> None:
    said = documented.call(".venv/bin/pts quarantine redrive", call)
    assert said.count("No table was changed.") == 2, "the rule is as it was"
