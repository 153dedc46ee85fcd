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

from lab.benchmarks.drivers.duckdb_tables import ADDED, GOLD, Tables, make_tables
from lab.benchmarks.seeded_log import RECORDS
from pipelines.simulation.feed import feed
from tests.comparison import in_micros
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables

pytestmark = pytest.mark.slow

COUNT = 6_000
WITHOUT = {"silver.quarantine": ("reason", "headers")}


def log() -> Iterator[LogRecord]:
    """The simulated feed, in one partition."""
    offsets = {"ship-events": 0, "ship-routes": 0}
    for record in islice(feed(1, 400, datetime(2026, 1, 1, tzinfo=UTC)), COUNT):
        yield LogRecord(record.topic, 0, offsets[record.topic], record.timestamp_ms, record.key, record.value)
        offsets[record.topic] += 1


def rows_of(path: Path) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        return list(in_micros(connection.sql(f"FROM '{path}'").to_arrow_table()).to_pylist())


def counted(rows: list[dict[str, Any]], without: tuple[str, ...] = ()) -> Counter[tuple[tuple[str, Any], ...]]:
    """How often each row is there, whatever the order of rows and columns."""
    return Counter(tuple(sorted((name, row[name]) for name in row.keys() - set(without))) for row in rows)


def as_arrow() -> pa.Table:
    rows = [
        (record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value)
        for record in log()
    ]
    return pa.table(dict(zip(RECORDS.names, zip(*rows, strict=True), strict=True)), RECORDS)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("floor")
    pq.write_table(as_arrow(), folder / "log.parquet")
    make_tables(folder / "log.parquet", folder)
    return folder


@pytest.fixture(scope="module")
def expected() -> dict[str, list[dict[str, Any]]]:
    return expected_tables(log())


@pytest.mark.parametrize("table", [name.replace("_", ".", 1) for name in (*ADDED, *GOLD) if "bronze" not in name])
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


def test_what_portions_add_is_what_the_whole_log_has(tables: Path) -> None:
    portioned, added = Tables(), {name: Counter[tuple[tuple[str, Any], ...]]() for name in ADDED}
    for portion in as_arrow().to_batches(max_chunksize=700):
        portioned.connection.register("portion", pa.table(portion))
        portioned.take("portion")
        for name, query in ADDED.items():
            added[name] += counted(in_micros(portioned.connection.sql(query).to_arrow_table()).to_pylist())
    for name, rows in added.items():
        assert rows == counted(rows_of(tables / f"{name}.parquet")), name
