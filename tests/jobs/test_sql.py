"""`pts sql` with DuckDB; what every engine must refuse."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.commands import Sql
from pipelines.errors import InvalidInput, NotFound
from pipelines.jobs.sql import query
from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a lake with gold.remaining_stops: package 42 at 3 remaining stops, package 43 without a route."""
    reports = pa.table({"tracking_number": [42, 43], "number_of_remaining_stops": pa.array([3, None], pa.int64())})
    write_deltalake(tmp_path / "lake" / "gold" / "remaining_stops", reports)
    return Settings(home=tmp_path)


def test_rows_come_back_as_arrow_with_nulls_as_nulls(settings: Settings) -> None:
    sql = "SELECT * FROM gold.remaining_stops ORDER BY tracking_number"
    assert query(Sql(query=sql, engine="duckdb"), settings).to_pylist() == [
        {"tracking_number": 42, "number_of_remaining_stops": 3},
        {"tracking_number": 43, "number_of_remaining_stops": None},
    ]


def test_unknown_table_is_not_found(settings: Settings) -> None:
    with pytest.raises(NotFound, match=r"there are gold\.remaining_stops"):
        query(Sql(query="FROM gold.remaining_stop", engine="duckdb"), settings)


def test_lake_is_empty_before_the_first_batch_for_both_engines(tmp_path: Path) -> None:
    for engine in ("duckdb", "spark"):
        with pytest.raises(NotFound, match="`pts stream` creates them"):
            query(Sql(query="SELECT 1", engine=engine), Settings(home=tmp_path))


@pytest.mark.spark
def test_spark_answers_the_same_query(settings: Settings) -> None:
    sql = "SELECT tracking_number AS n FROM gold.remaining_stops ORDER BY n DESC;"
    assert query(Sql(query=sql, engine="spark"), settings).to_pylist() == [{"n": 43}, {"n": 42}]
    assert query(Sql(query="SHOW TABLES IN gold", engine="spark"), settings)["tableName"].to_pylist() == [
        "remaining_stops"
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM gold.remaining_stops",
        "WITH a AS (SELECT 1) INSERT INTO gold.remaining_stops SELECT 1, 1",
        "FROM gold.remaining_stops INSERT INTO gold.remaining_stops SELECT *",
        "SELECT 1); DELETE FROM gold.remaining_stops; SELECT * FROM (SELECT 1",
        "DROP TABLE gold.remaining_stops",
        "EXPLAIN SELECT 1; DELETE FROM gold.remaining_stops",
        "SELECT nope FROM gold.remaining_stops",
    ],
)
def test_spark_only_reads(settings: Settings, sql: str) -> None:
    with pytest.raises(InvalidInput, match="Spark rejects the query"):
        query(Sql(query=sql, engine="spark"), settings)
    assert DeltaTable(f"{settings.lake_root}/gold/remaining_stops").version() == 0
