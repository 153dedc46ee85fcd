"""`pts sql` with DuckDB; what every engine must refuse."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.commands import Sql
from pipelines.errors import InvalidInput, NotFound
from pipelines.queries.sql import query
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


@pytest.fixture
def two_batches(tmp_path: Path) -> Settings:
    """Of a lake where package 42 had 3 remaining stops after batch 0 and 2 after batch 1, which made a table more."""
    lake = tmp_path / "lake"
    for batch_id, count in enumerate((3, 2)):
        reports = pa.table({"tracking_number": [42], "number_of_remaining_stops": [count]})
        write_deltalake(lake / "gold" / "remaining_stops", reports, mode="overwrite")
        tables = [{"table_name": "gold.remaining_stops", "version": batch_id, "position": batch_id}]
        if batch_id:
            write_deltalake(lake / "gold" / "stop_activity", pa.table({"scan_count": [1]}))
            tables.append({"table_name": "gold.stop_activity", "version": 0, "position": batch_id})
        row = {"batch_id": batch_id, "committed_at": datetime(2024, 5, 1, tzinfo=UTC), "tables": tables}
        write_deltalake(
            lake / "ops" / "batches",
            pa.Table.from_pylist([row]).append_column("replay_id", pa.nulls(1, pa.string())),
            mode="append",
        )
    return Settings(home=tmp_path)


STOPS_AND_BATCHES = (
    "SELECT number_of_remaining_stops AS stops, batch_id FROM gold.remaining_stops, ops.batches ORDER BY 2"
)


def test_tables_and_ledger_are_read_as_they_were_after_a_batch(two_batches: Settings) -> None:
    def asked(at_batch: int | None) -> list[dict[str, int]]:
        found: list[dict[str, int]] = query(Sql(query=STOPS_AND_BATCHES, at_batch=at_batch), two_batches).to_pylist()
        return found

    assert asked(0) == [{"stops": 3, "batch_id": 0}]
    assert asked(1) == asked(None) == [{"stops": 2, "batch_id": 0}, {"stops": 2, "batch_id": 1}]


def test_batch_that_the_ledger_does_not_have_is_refused_for_both_engines(two_batches: Settings) -> None:
    for engine in ("duckdb", "spark"):
        with pytest.raises(NotFound, match="no batch 2 in the ledger"):
            query(Sql(query="SELECT 1", engine=engine, at_batch=2), two_batches)


def test_table_that_came_with_a_later_batch_is_not_found_at_an_earlier_one(two_batches: Settings) -> None:
    with pytest.raises(
        NotFound, match=r"no table .*stop_activity at .*; there are gold\.remaining_stops, ops\.batches"
    ):
        query(Sql(query="FROM gold.stop_activity", at_batch=0), two_batches)


def test_batch_whose_files_were_vacuumed_is_refused_for_both_engines_with_the_table(two_batches: Settings) -> None:
    path = Path(two_batches.lake_root) / "gold" / "remaining_stops"
    Path(DeltaTable(path, version=0).file_uris()[0]).unlink()
    for engine in ("duckdb", "spark"):
        with pytest.raises(
            NotFound, match=r"gold\.remaining_stops at version 0 \(batch 0\) of .* can no longer be read"
        ):
            query(Sql(query=STOPS_AND_BATCHES, engine=engine, at_batch=0), two_batches)


@pytest.mark.spark
def test_spark_reads_tables_and_ledger_as_they_were_after_a_batch_and_then_as_they_are(two_batches: Settings) -> None:
    def asked(sql: str, at_batch: int | None) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = query(
            Sql(query=sql, engine="spark", at_batch=at_batch), two_batches
        ).to_pylist()
        return rows

    new = [{"stops": 2, "batch_id": 0}, {"stops": 2, "batch_id": 1}]
    assert asked(STOPS_AND_BATCHES, None) == new
    assert asked(STOPS_AND_BATCHES, 0) == [{"stops": 3, "batch_id": 0}]
    assert asked(STOPS_AND_BATCHES, 1) == new
    assert asked(STOPS_AND_BATCHES, None) == new
    assert "remaining_stops" in {row["tableName"] for row in asked("SHOW TABLES IN gold", 0)}


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
