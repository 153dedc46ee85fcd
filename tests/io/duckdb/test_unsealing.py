"""Answers to anybody's SQL show what is sealed as the clearance of who asks does."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.contracts.envelope import sealed_fields, sealed_value
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.duckdb.unsealing import masked_answer
from pipelines.io.keys.clearance import Clearance
from pipelines.io.keys.key_store import KeyStore
from tests.queries.package_rows import SCANS, scan

QUARANTINE = pa.schema(
    [("kafka_topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("detail", pa.string())]
)
PLACES = "SELECT city, postal_code, status_description FROM silver.ship_events ORDER BY kafka_offset"


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    KeyStore.create(tmp_path / "keys.sqlite")
    return KeyStore(tmp_path / "keys.sqlite")


@pytest.fixture
def cleared(store: KeyStore, tmp_path: Path) -> Iterator[Clearance]:
    with closing(Clearance(store=KeyStore(tmp_path / "keys.sqlite", is_read_only=True))) as clearance:
        yield clearance


@pytest.fixture
def reader(store: KeyStore, tmp_path: Path) -> LakeReader:
    """Of a lake with a sealed scan of package 42, one of 43, one of 44 in clear, and values in quarantine."""
    with store.minting() as keys:
        rows = [
            {**scan(3, offset=number), "tracking_number": number, "city": None, "status_description": envelope}
            for number in (42, 43)
            if (envelope := sealed_fields({"city": "Kiel"}, keys.of_package(number), number, "ship-events"))
        ]
        day, key = keys.of_today()
    rows.append({**scan(3, offset=44), "tracking_number": 44, "status_description": "in clear"})
    write_deltalake(tmp_path / "lake/silver/ship_events", pa.Table.from_pylist(rows, pa.schema(SCANS)))
    whole = sealed_value(b"a secret", key, day, "ship-events")
    rejected: list[dict[str, Any]] = [
        {"value": whole, "detail": f"is no number: {whole[:60].decode()}"},
        {"value": b"\xff\x00", "detail": None},
        {"value": None, "detail": "empty"},
    ]
    rejected = [{**each, "kafka_topic": "ship-events"} for each in rejected]
    write_deltalake(tmp_path / "lake/silver/quarantine", pa.Table.from_pylist(rejected, QUARANTINE))
    return LakeReader(str(tmp_path / "lake"))


def rows(answer: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in answer.to_pylist()]


def test_who_has_the_keys_reads_in_clear_what_is_not_erased(
    reader: LakeReader, cleared: Clearance, store: KeyStore
) -> None:
    clear = ("Lyon", None, "in clear")
    assert rows(reader.answer(PLACES, cleared)) == [("Kiel", None, None), ("Kiel", None, None), clear]
    store.erase(42)
    assert rows(reader.answer(PLACES, cleared)) == [("[erased]",) * 3, ("Kiel", None, None), clear]
    assert rows(reader.answer(PLACES)) == [("[sealed]",) * 3, ("[sealed]",) * 3, clear]
    counted = "SELECT city, count(*) FROM silver.ship_events WHERE tracking_number > 42 GROUP BY 1 ORDER BY 1"
    assert rows(reader.answer(counted, cleared)) == [("Kiel", 1), ("Lyon", 1)]


def test_values_are_opened_or_masked_and_other_bytes_are_what_they_are(reader: LakeReader, cleared: Clearance) -> None:
    sql = "SELECT value, detail FROM silver.quarantine"
    detail = "is no number: [sealed]"
    others = [(b"\xff\x00", None), (None, "empty")]
    assert rows(reader.answer(sql, cleared)) == [(b"a secret", detail), *others]
    assert rows(reader.answer(sql)) == [(b"[sealed]", detail), *others]


@pytest.mark.parametrize("name", ["silver.ship_events", '"silver.ship_events"'])
def test_no_other_name_of_the_table_shows_the_envelope(name: str, reader: LakeReader) -> None:
    assert "sealed:1:" not in str(reader.answer(f"FROM {name} -- silver.ship_events").to_pylist())


def test_functions_give_who_has_no_keys_a_mask_alone(reader: LakeReader) -> None:
    sql = "SELECT unsealed_texts('sealed:1:package:AA', 42).city, unsealed_value('sealed:1:package:AA', 'ship-events')"
    assert rows(reader.answer(sql)) == [("[sealed]", b"[sealed]")]


def test_what_is_read_in_clear_is_spilled_nowhere(reader: LakeReader, cleared: Clearance) -> None:
    with reader.closed(["silver.ship_events"], cleared) as connection:  # without a folder, DuckDB has memory alone
        assert connection.sql("SELECT current_setting('temp_directory')").fetchall() == [("",)]
        for sql in ("SET temp_directory = '/tmp'", "COPY (FROM silver.ship_events) TO '/tmp/x.csv'"):
            with pytest.raises(duckdb.Error):
                connection.sql(sql)


def test_answer_of_an_engine_that_opens_nothing_is_masked(store: KeyStore) -> None:
    with store.minting() as keys:
        envelope = sealed_fields({"city": "Kiel"}, keys.of_package(42), 42, "ship-events")
    columns = {
        "n": [1, 2],
        "text": [f"a {envelope}.", None],
        "bytes": [b"\xff", envelope.encode()],
        "text2": ["a", "b"],
    }
    table = pa.table(list(columns.values()), names=["n", "text", "bytes", "text"])
    found = masked_answer(table)
    assert found.column_names == table.column_names
    assert [column.to_pylist() for column in found.columns] == [
        [1, 2], ["a [sealed].", None], [b"\xff", b"[sealed]"], ["a", "b"],
    ]  # fmt: skip
