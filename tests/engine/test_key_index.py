"""An index leaves out files, and never one that holds what is asked for."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection as Cursor
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.engine import key_index
from pipelines.engine.key_index import KeyIndex
from pipelines.io.delta import data_files, duck
from pipelines.tables import SILVER_SHIP_EVENTS, Column, Table

PARCELS = Table(
    name="silver.parcels",
    doc="Parcels.",
    grain="one row per parcel and code",
    key=("number", "code"),
    is_append_only=True,
    columns=(Column("number", "BIGINT", "The number.", is_required=True), Column("code", "STRING", "A code.")),
)
Parcel = tuple[int, str | None]
parcels = st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", None]))


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with closing(duck.cursor()) as made:
        yield made


def rows(*found: Parcel) -> str:
    """A query that gives them, with numbers of another type than the table."""
    values = (f"({number}::DOUBLE, {'NULL' if code is None else repr(code)}::VARCHAR)" for number, code in found)
    return f"SELECT * FROM (VALUES {', '.join(values)}) AS parcel(number, code)"


def written(cursor: Cursor, folder: Path, *found: Parcel) -> str:
    (file,) = data_files.write(cursor, rows(*found), PARCELS, str(folder))
    return f"{folder}/{file.name}"


def test_files_with_a_key_that_is_asked_for_are_found_and_no_others(cursor: Cursor, tmp_path: Path) -> None:
    index = KeyIndex()
    files = [written(cursor, tmp_path, (number, "a"), (number + 10, None)) for number in range(5)]
    for _ in range(2):
        assert index.files_for(cursor, rows((3, "a"), (14, None), (7, "a"), (2, "b")), PARCELS, files) == files[3:]


@settings(max_examples=40)
@given(st.lists(st.lists(parcels, min_size=1, max_size=4), min_size=1, max_size=5), st.lists(parcels, min_size=1))
def test_no_file_with_a_key_that_is_asked_for_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, there: list[list[Parcel]], asked: list[Parcel]
) -> None:
    folder, index = tmp_path_factory.mktemp("table"), KeyIndex(most_keys=6)
    with closing(duck.cursor()) as cursor:
        files = {written(cursor, folder, *found): set(found) for found in there}
        for some in (list(files)[:3], list(files)[1:], list(files)):
            found = index.files_for(cursor, rows(*asked), PARCELS, some)
            assert {file for file in some if files[file] & set(asked)} <= set(found) <= set(some)


def test_file_is_opened_once(cursor: Cursor, tmp_path: Path) -> None:
    index, file = KeyIndex(), written(cursor, tmp_path, (1, "a"))
    assert index.files_for(cursor, rows((1, "a")), PARCELS, [file]) == [file]
    Path(file).unlink()
    assert index.files_for(cursor, rows((1, "a")), PARCELS, [file]) == [file]
    assert index.files_for(cursor, rows((2, "a")), PARCELS, [file]) == []


def test_without_room_files_are_opened_and_the_ones_asked_for_last_have_it(cursor: Cursor, tmp_path: Path) -> None:
    index = KeyIndex(most_keys=4)
    files = [written(cursor, tmp_path, (number, "a"), (number, "b")) for number in range(5)]
    nothing = rows((9, "a"))
    assert index.files_for(cursor, nothing, PARCELS, files) == files[2:]
    assert index.files_for(cursor, nothing, PARCELS, files[:2]) == []
    assert index.files_for(cursor, nothing, PARCELS, files[2:]) == files[4:]


def test_where_much_is_asked_for_all_files_are_opened(
    cursor: Cursor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_index, "FEW_KEYS", 1)
    file = written(cursor, tmp_path, (1, "a"))
    assert KeyIndex().files_for(cursor, rows((2, "a"), (3, "a")), PARCELS, [file]) == [file]


def test_scans_are_told_apart_by_the_key_of_their_table() -> None:
    assert SILVER_SHIP_EVENTS.key == SCAN_IDENTITY
