"""A lake in which a row is wrong does not pass for one that is right."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lab.benchmarks import sample
from lab.benchmarks.driving import RunFailed
from lab.benchmarks.seeded_log import RECORDS
from tests.comparison import COMPARED
from tests.healthy_lake import HealthyLake, Row
from tests.lab.benchmarks.test_duckdb_tables import as_arrow, log
from tests.oracle.tables import expected_tables

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> list[sample.Expected]:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(as_arrow(), path)
    return sample.expected(path)


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Row]]:
    return {name: rows for name, rows in expected_tables(log()).items() if name in COMPARED}


@pytest.fixture
def lake(expected: dict[str, list[Row]]) -> HealthyLake:
    return HealthyLake(dict(expected))


def test_lake_of_the_oracle_passes(sampled: list[sample.Expected], lake: HealthyLake, tmp_path: Path) -> None:
    lake.write(tmp_path)
    assert sample.check(sampled, str(tmp_path)) > 1_000


def halved(rows: list[Row]) -> list[Row]:
    """Without every second row, so that the sample has some of what is missing."""
    return rows[1::2]


def doubled(rows: list[Row]) -> list[Row]:
    return [*rows, *rows[::2]]


@pytest.mark.parametrize("spoil", [halved, doubled])
@pytest.mark.parametrize("table", sample.SAMPLED)
def test_table_with_other_rows_does_not(
    table: str,
    spoil: Callable[[list[Row]], list[Row]],
    sampled: list[sample.Expected],
    lake: HealthyLake,
    tmp_path: Path,
) -> None:
    lake.tables[table] = spoil(lake.tables[table])
    lake.write(tmp_path)
    with pytest.raises(RunFailed, match=f"{table} of .* has other rows"):
        sample.check(sampled, str(tmp_path))


def test_log_without_records_proves_nothing(lake: HealthyLake, tmp_path: Path) -> None:
    pq.write_table(RECORDS.empty_table(), tmp_path / "log.parquet")
    lake.write(tmp_path / "lake")
    with pytest.raises(RunFailed, match="nothing to compare"):
        sample.check(sample.expected(tmp_path / "log.parquet"), str(tmp_path / "lake"))
