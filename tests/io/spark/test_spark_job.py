"""Spark for the length of a command: on a cluster, it ends with the locks of this process."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import AnotherWriter
from pipelines.io.spark import spark_job
from pipelines.io.storage import locks
from pipelines.settings import Settings, Spark

A_LONG_JOB = "SELECT java_method('java.lang.Thread', 'sleep', 3000L + id) FROM range(1)"


@pytest.fixture
def cut_off(shared_session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has a lock that it could not renew."""
    monkeypatch.setattr(spark_job, "LOOKS_APART_SECONDS", 0.1)
    monkeypatch.setattr(locks, "is_any_lost", lambda: True)


@pytest.mark.usefixtures("cut_off")
def test_job_on_a_cluster_is_cancelled_without_its_locks(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, spark=Spark(master="spark://10.0.0.1:7077"))
    with pytest.raises(AnotherWriter, match="was not renewed in time"), spark_job.spark_job(settings, "test") as spark:
        spark.sql(A_LONG_JOB).collect()


@pytest.mark.usefixtures("cut_off")
def test_job_on_this_machine_goes_on(tmp_path: Path) -> None:
    """What it writes without its locks is refused, and it loses no executors."""
    with spark_job.spark_job(Settings(home=tmp_path), "test") as spark:
        assert spark.sql(A_LONG_JOB).collect()
