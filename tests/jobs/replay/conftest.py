"""Lakes that tests of a replay begin with: made once, copied for each test."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

if TYPE_CHECKING:  # it draws cases, for which pytest is not ready yet
    from tests.jobs.replay.offline import Offline


@pytest.fixture(scope="session")
def healthy(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> "Offline":
    from tests.jobs.replay.offline import PACK, fed

    return fed(spark, tmp_path_factory.mktemp("healthy"), PACK.batches)


@pytest.fixture(scope="session")
def wrong(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> "Offline":
    from tests.jobs.replay.offline import PACK, fed, planted_bug

    with planted_bug():
        return fed(spark, tmp_path_factory.mktemp("wrong"), PACK.batches, -1)


@pytest.fixture
def lake(healthy: "Offline", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Offline":
    from tests.jobs.replay.offline import connected

    return connected(healthy.copy(tmp_path), monkeypatch)


@pytest.fixture
def wrong_lake(wrong: "Offline", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Offline":
    """Made by code with a bug, from all but the last part of the log."""
    from tests.jobs.replay.offline import connected

    return connected(wrong.copy(tmp_path), monkeypatch)
