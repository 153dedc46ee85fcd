"""A lake that is moved, as the page says."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.brokers import drain
from tests.comparison import assert_lake_equals_log
from tests.docs.conftest import Documented
from tests.integration.log_reader import read_log
from tests.integration.pts_process import settings_of

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=3, packages=150, rate=0, count=1_000)


def test_lake_is_moved_as_the_page_says(
    documented: Documented, spark: SparkSession, new_log: Settings, tmp_path: Path
) -> None:
    simulate.run(FEED, new_log)
    drain(spark, new_log)
    simulate.run(FEED.model_copy(update={"count": 1_500, "resume": True}), new_log)
    documented.environment |= settings_of(new_log, "lake")
    moved = tmp_path / "moved"

    documented.run(".venv/bin/pts down")
    documented.run("cp -a", {"OLD_LAKE": new_log.lake_root, "NEW_LAKE": str(moved)})
    said = documented.run("export PTS_LAKE", {"NEW_LAKE": str(moved)})

    assert "checks held" in said
    assert_lake_equals_log(str(moved), read_log(new_log.bootstrap_servers))
