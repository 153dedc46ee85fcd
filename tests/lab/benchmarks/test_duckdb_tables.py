"""The floor does the whole work: DuckDB's tables are the oracle's, row for row."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.benchmarks.drivers.duckdb_tables import make_tables
from lab.benchmarks.seeded_log import DUMP_SCHEMA
from pipelines.simulation.feed import feed
from tests.comparison import COMPARED, in_micros
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables

RECORDS = 6_000
WITHOUT = {"silver.quarantine": ("reason", "headers")}


def log() -> Iterator[LogRecord]:
    """The simulated feed, in one partition."""
    offsets = {"ship-events": 0, "ship-routes": 0}
    for record in islice(feed(1, 400, datetime(2026, 1, 1, tzinfo=UTC)), RECORDS):
        yield LogRecord(record.topic, 0, offsets[record.topic], record.timestamp_ms, record.key, record.value)
        offsets[record.topic] += 1


def rows_of(path: Path) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        return list(in_micros(connection.sql(f"FROM '{path}'").to_arrow_table()).to_pylist())


def counted(rows: list[dict[str, Any]], without: tuple[str, ...] = ()) -> Counter[tuple[tuple[str, Any], ...]]:
    """How often each row is there, whatever the order of rows and columns."""
    return Counter(tuple(sorted((name, row[name]) for name in row.keys() - set(without))) for row in rows)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("floor")
    rows = [
        (record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value)
        for record in log()
    ]
    columns = dict(zip(DUMP_SCHEMA.names, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns, DUMP_SCHEMA), folder / "log.parquet")
    make_tables(folder / "log.parquet", folder)
    return folder


@pytest.fixture(scope="module")
def expected() -> dict[str, list[dict[str, Any]]]:
    return expected_tables(log())


@pytest.mark.parametrize("table", COMPARED)
def test_table_is_that_of_the_oracle(table: str, tables: Path, expected: dict[str, list[dict[str, Any]]]) -> None:
    without = WITHOUT.get(table, ())
    found = counted(rows_of(tables / f"{table.replace('.', '_')}.parquet"))
    wanted = counted(expected[table], without)
    assert list((found - wanted).elements()) == []
    assert list((wanted - found).elements()) == []
    assert found


@pytest.mark.parametrize("topic", ["ship-events", "ship-routes"])
def test_bronze_is_the_log(topic: str, tables: Path) -> None:
    found = rows_of(tables / f"bronze_{topic.replace('-', '_')}.parquet")
    kept = {(row["kafka_offset"], row["key"], row["value"]) for row in found}
    assert kept == {(record.offset, record.key, record.value) for record in log() if record.topic == topic}
