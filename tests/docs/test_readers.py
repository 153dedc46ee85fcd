"""A table read by Spark, as the page says; the other readers are in `test_commands.py`."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.conftest import Documented
from tests.healthy_lake import healthy_lake


def test_spark_reads_a_table_as_the_page_says(
    documented: Documented, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy_lake().write(tmp_path / "var" / "lake")
    monkeypatch.chdir(tmp_path)
    names = {"spark": spark}
    exec(documented.take("rows = spark").replace('"var/', f'"{tmp_path}/var/'), names)
    assert names["rows"]
