"""Lakes that tests of a replay begin with: made once, copied for each test."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import ReplayBuild, ReplayCompare
from pipelines.replay import build, compare

if TYPE_CHECKING:  # it draws cases, for which pytest is not ready yet
    from tests.replay.offline import Offline


@pytest.fixture(scope="session")
def healthy(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> "Offline":
    from tests.replay.offline import PACK, fed

    return fed(spark, tmp_path_factory.mktemp("healthy"), PACK.batches)


@pytest.fixture(scope="session")
def wrong(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> "Offline":
    from tests.replay.offline import PACK, WRONG_FLOWS, fed

    return fed(spark, tmp_path_factory.mktemp("wrong"), PACK.batches, -1, WRONG_FLOWS)


@pytest.fixture(scope="session")
def replayed(wrong: "Offline", tmp_path_factory: pytest.TempPathFactory) -> "Offline":
    from tests.replay.offline import DECLARED, connected

    made = wrong.copy(tmp_path_factory.mktemp("replayed"))
    with pytest.MonkeyPatch.context() as patch:
        connected(made, patch)
        build.run(ReplayBuild(replay_id="fix"), made.settings)
        compare.run(ReplayCompare(replay_id="fix", expect=DECLARED), made.settings)
    return made


@pytest.fixture
def lake(healthy: "Offline", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Offline":
    from tests.replay.offline import connected

    return connected(healthy.copy(tmp_path), monkeypatch)


@pytest.fixture
def wrong_lake(wrong: "Offline", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Offline":
    """Made by code with a bug, from all but the last part of the log."""
    from tests.replay.offline import connected

    return connected(wrong.copy(tmp_path), monkeypatch)


@pytest.fixture
def replayed_lake(replayed: "Offline", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Offline":
    """The same, with a replay `fix` by the right code that was compared, and may be promoted."""
    from tests.replay.offline import connected

    return connected(replayed.copy(tmp_path), monkeypatch)
