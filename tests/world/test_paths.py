"""Where a lake lies never changes what it says."""

import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import verify
from pipelines.io.duckdb.reader import LakeReader
from pipelines.queries.report import package_report
from pipelines.replay.difference import Pair
from pipelines.state.snapshots import snapshot
from pipelines.tables import GOLD_REMAINING_STOPS
from tests.comparison import assert_lake_equals_log
from tests.oracle.makers import route, scan
from tests.replay.offline import Offline, fed

FOLDERS = "country=DE/current_stop_id=x/kafka_offset=1/it's größer 100% & more"
"""Names of columns, of three types, with values that would be theirs; and what shells and engines may take amiss."""

PARTS = (
    [scan(1, stop=1, offset=0), scan(2, stop=2, offset=1), route(1, end=9, offset=0)],
    [scan(1, "10:30", stop=4, offset=2), scan(2, stop=2, offset=3), route(2, end=7, offset=1)],
)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Offline:
    folder = tmp_path_factory.mktemp("paths") / FOLDERS
    folder.mkdir(parents=True)
    return fed(spark, folder, PARTS)


def test_tables_are_those_of_the_log(lake: Offline) -> None:
    assert_lake_equals_log(lake.settings.lake_root, lake.read())


def test_commands_answer_as_everywhere(lake: Offline) -> None:
    assert verify.run(commands.Verify(), lake.settings).batch_id == 1
    found = package_report(1, lake.settings)
    assert found.report
    assert {row["country"] for row in (*found.scans, found.report)} == {"US"}
    assert found.report["number_of_remaining_stops"] == 5


def test_comparison_shows_the_rows_themselves(lake: Offline) -> None:
    """Of two moments of the lake, in samples that lie where the lake does."""
    root = lake.settings.lake_root
    pair = Pair(LakeReader(root, snapshot(root, 1).versions), LakeReader(root, snapshot(root, 0).versions))
    found = pair.compared(GOLD_REMAINING_STOPS, frozenset(), f"{root}/_shadow/x")
    assert [(sample.key, sample.live["end_stop_id"]) for sample in found.samples if "end_stop_id" in sample.live] == [
        ({"tracking_number": 2}, 7)
    ]
    assert all("country" not in sample.live for sample in found.samples)
