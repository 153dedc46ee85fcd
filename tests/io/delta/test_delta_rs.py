"""Which files of a table may hold what is looked for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import write_deltalake

from pipelines.io.delta import delta_rs
from pipelines.io.delta.delta_rs import Spans
from pipelines.io.delta.delta_table import Tables, opened

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3_600_000_000
MICROS = int(NOON.timestamp()) * 1_000_000


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Three files: 0 to 2 from noon on, 10 to 12 from one hour later, and 20 a microsecond before three."""
    path = str(tmp_path / "a table")
    for numbers, begin in (([0, 1, 2], NOON), ([10, 11, 12], NOON + timedelta(hours=1))):
        times = [begin + timedelta(minutes=number) for number in numbers]
        write_deltalake(path, rows(numbers, times), mode="append")
    write_deltalake(path, rows([20], [NOON + timedelta(hours=3, microseconds=-1)]), mode="append")
    return path


def files(path: str, column: str | None = None, spans: Spans = ()) -> list[str]:
    return delta_rs.files(opened(path), path, column, spans)


def rows(numbers: list[int], times: list[datetime]) -> pa.Table:
    return pa.table({"number": numbers, "time": pa.array(times, pa.timestamp("us", "UTC"))})


def numbers_in(names: list[str]) -> set[int]:
    return {number for name in names for number in pyarrow.parquet.read_table(name)["number"].to_pylist()}


def test_all_files_are_named_by_their_paths(table: str) -> None:
    assert numbers_in(files(table)) == {0, 1, 2, 10, 11, 12, 20}


def test_files_that_may_hold_values_of_a_span_are_named(table: str) -> None:
    """A time of statistics is cut off at the millisecond: the last file's greatest says less than it holds."""
    one = [(MICROS, MICROS + HOUR)]
    assert numbers_in(files(table, "time", one)) == {0, 1, 2}
    assert numbers_in(files(table, "time", [*one, (MICROS + 3 * HOUR - 1, MICROS + 3 * HOUR)])) == {0, 1, 2, 20}
    assert files(table, "time", [(MICROS - HOUR, MICROS)]) == []
    assert files(table, "time", ()) == []
    assert numbers_in(files(table, "number", [(2000, 3000)])) == set()
    assert 20 in numbers_in(files(table, "number", [(20, 21)]))


def test_a_file_without_statistics_is_always_named(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, rows([1], [NOON]), configuration={"delta.dataSkippingStatsColumns": "number"})
    assert len(files(path, "time", [(0, 1)])) == 1
    unknown = pa.table({"number": pa.array([None], pa.int64()), "time": pa.array([NOON], pa.timestamp("us", "UTC"))})
    write_deltalake(path, unknown, mode="append")
    assert len(files(path, "number", [(5_000, 5_001)])) == 1


def test_rows_within_spans_are_found_in_whatever_file_they_are(table: str) -> None:
    there = opened(table)
    found = delta_rs.rows(there, table, "number", [(1, 3), (11, 21)])
    assert sorted(found["number"].to_pylist()) == [1, 2, 11, 12, 20]
    assert delta_rs.rows(there, table, "number", [(5_000, 5_001)]).num_rows == 0
    assert delta_rs.greatest(there, "number") == 20


def test_table_that_stays_open_is_at_its_newest_version_whenever_it_is_asked_for(table: str) -> None:
    tables = Tables()
    assert numbers_in(delta_rs.files(tables.newest(table), table)) == {0, 1, 2, 10, 11, 12, 20}
    write_deltalake(table, rows([30], [NOON]), mode="append")
    assert numbers_in(delta_rs.files(tables.newest(table), table)) == {0, 1, 2, 10, 11, 12, 20, 30}
    assert numbers_in(delta_rs.files(tables.at(table, 2), table)) == {0, 1, 2, 10, 11, 12, 20}
    assert numbers_in(delta_rs.files(tables.at(table, 3), table)) == {0, 1, 2, 10, 11, 12, 20, 30}
