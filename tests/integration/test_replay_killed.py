"""Builds and promotions that the kernel kills, step after step, as processes on a real broker.

pytest tests/integration/test_replay_killed.py --kill-every 1    kills after each step, not after each ninth
"""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import verify
from pipelines.errors import LakeMismatch
from pipelines.live.resume import check_promotions
from pipelines.settings import Settings
from pipelines.stack import simulate
from pipelines.state.replay_records import Replays
from tests.brokers import drain
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.pts_process import pts, settings_of
from tests.replay.offline import WRONG_FLOWS

pytestmark = pytest.mark.long


FEED = commands.Simulate(seed=6, packages=100, rate=0, count=2_000)


@pytest.fixture
def settings(new_log: Settings) -> Settings:
    """On a log that holds a feed."""
    simulate.run(FEED, new_log)
    return new_log


def killed(arguments: list[str], environment: dict[str, str], step: int) -> Iterator[int]:
    """Runs the command again and again, each time some steps further, until it comes to its end; the steps before each
    kill."""
    limit = step
    while True:
        command = [sys.executable, "-m", "tests.saboteur", str(limit), *arguments]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        if found.returncode == 0:
            return
        assert found.returncode == -signal.SIGKILL, found.stderr[-3000:]
        yield limit
        limit += step


def test_build_and_promotion_that_are_killed_go_on_and_the_tables_equal_the_oracle(
    spark: SparkSession, settings: Settings, request: pytest.FixtureRequest
) -> None:
    """The process is gone at once; its Java may still do what it was told, while the next process begins."""
    step = request.config.getoption("--kill-every")
    environment = settings_of(settings, "lake", PTS_REPLAY__MAX_RECORDS_PER_BATCH="1100")
    settings = settings.model_copy(update={"lake": environment["PTS_LAKE"]})
    drain(spark, settings, WRONG_FLOWS)

    assert len(list(killed(["replay", "build", "fix"], environment, step))) > 1
    assert pts(["replay", "compare", "fix", "--expect", "gold.remaining_stops"], environment).returncode == 0
    refused = 0
    for _ in killed(["replay", "promote", "fix"], environment, step):
        if Replays(settings.lake_root).load("fix").under_way:
            with pytest.raises(LakeMismatch, match="pts replay promote fix"):
                check_promotions(settings.lake_root)
            refused += 1
    assert refused > 1
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))
    verify.run(commands.Verify(), settings)
