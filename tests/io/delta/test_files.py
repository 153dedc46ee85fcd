"""Fewer files with the same rows, and none is gone that somebody may read."""

import os
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.io.delta import data_files, delta_rs, duck, files
from pipelines.io.delta.delta_table import opened
from pipelines.io.delta.readable_lake import rows_of
from pipelines.tables import Column, Table

NUMBERS = Table(
    name="silver.numbers",
    doc="Numbers.",
    grain="one row per number",
    key=("number",),
    is_append_only=True,
    columns=(Column("number", "BIGINT", "The number.", is_required=True), Column("text", "STRING", "A text.")),
)
SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False), pa.field("text", pa.string())])
WEEK = timedelta(days=7)
NO_TIME = timedelta(0)
COMMITS = 12


@pytest.fixture
def path(tmp_path: Path) -> str:
    """An append-only table of as many versions and files, two rows in each."""
    made = str(tmp_path / "table")
    DeltaTable.create(made, SCHEMA, configuration={"delta.appendOnly": "true", "delta.checkpointInterval": "100"})
    for each in range(COMMITS):
        append(made, each)
    return made


def append(path: str, number: int) -> None:
    rows = {"number": [number, number + 100], "text": ["a", None]}
    write_deltalake(path, pa.table(rows, SCHEMA), mode="append")


def rows(path: str, version: int | None = None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = DeltaTable(path, version=version).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: str(row["number"]))


def make_older(days: float, *files: Path) -> None:
    then = time.time() - timedelta(days=days).total_seconds()
    for file in files:
        os.utime(file, (then, then))


def test_joined_files_hold_the_same_rows_and_a_second_time_does_nothing(path: str) -> None:
    before, was = rows(path), files.state(path)
    assert was.has_many_small
    files.join(path, NUMBERS)
    joined = files.state(path)
    assert rows(path) == before
    assert (was.files.file_count, joined.files.file_count) == (COMMITS, 1)
    assert joined.folder.file_count == COMMITS + 1
    assert joined.files.byte_count < was.files.byte_count
    files.join(path, NUMBERS)
    assert files.state(path) == joined


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "found by the commit"])
def test_files_that_somebody_joined_meanwhile_are_not_replaced_again(path: str, is_known: bool) -> None:
    seen, before = opened(path), rows(path)
    with closing(duck.cursor()) as cursor:
        names = [file.rpartition("/")[2] for file in delta_rs.files(seen, path)]
        query = rows_of(NUMBERS, [f"{path}/{name}" for name in names])
        for _ in range(2):
            joined = data_files.write(cursor, query, NUMBERS, path, are_joined=True)
            delta_rs.replace_files(opened(path) if is_known else seen, path, joined, names)
    assert rows(path) == before
    assert files.state(path).files.file_count == 1


def test_many_files_become_several_of_the_size_of_large_ones(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, byte_count = rows(path), files.state(path).files.byte_count // COMMITS
    monkeypatch.setattr(files, "SMALL_BYTES", 2 * byte_count)
    monkeypatch.setattr(files, "TARGET_BYTES", 7 * byte_count)
    files.join(path, NUMBERS)
    assert rows(path) == before
    assert files.state(path).files.file_count == 3


def test_few_small_files_are_left_as_they_are(tmp_path: Path) -> None:
    path = str(tmp_path)
    for each in range(files.MANY_SMALL - 1):
        append(path, each)
    was = files.state(path)
    files.join(path, NUMBERS)
    assert files.state(path) == was


def test_large_files_do_not_count_as_small(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL_BYTES", files.state(path).files.byte_count // COMMITS - 10)
    assert files.state(path).small_count == 0


def test_table_without_a_file_has_none(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path), SCHEMA)
    found = files.state(str(tmp_path))
    assert found.files == found.folder == files.Extent(0, 0)
    assert not found.has_many_small


def test_order_puts_all_rows_along_the_columns(tmp_path: Path) -> None:
    path = str(tmp_path)
    for each in (5, 3, 9):
        append(path, each)
    files.order(path, ("number",))
    assert DeltaTable(path).to_pyarrow_table()["number"].to_pylist() == [3, 5, 9, 103, 105, 109]
    assert files.state(path).files.file_count == 1


def test_file_stays_for_the_retention_after_it_was_replaced_however_old_it_is(path: str) -> None:
    make_older(40, *Path(path).glob("*.parquet"))
    files.join(path, NUMBERS)
    assert files.unneeded(path, timedelta(hours=24), ()) == files.Extent(0, 0)
    files.vacuum(path, timedelta(hours=24), ())
    assert len(rows(path, version=COMMITS)) == 2 * COMMITS
    assert files.unneeded(path, NO_TIME, ()).file_count == COMMITS


def test_file_of_a_write_that_was_cut_off_goes_when_it_is_old_and_one_under_way_stays(path: str) -> None:
    old, young = Path(path, "old.parquet"), Path(path, "young.parquet")
    for file in (old, young):
        file.write_bytes(b"half of it")
    make_older(8, old)
    assert files.unneeded(path, WEEK, ()) == files.Extent(1, len(b"half of it"))
    files.vacuum(path, WEEK, ())
    assert not old.exists()
    assert young.exists()


def test_file_that_a_write_takes_out_meanwhile_disturbs_no_vacuum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table moves on after the vacuum has looked at it, as under a live job that merges."""
    path, cut_off = str(tmp_path), tmp_path / "old.parquet"
    append(path, 1)
    cut_off.write_bytes(b"half of it")
    make_older(8, cut_off)
    seen = DeltaTable(path)
    write_deltalake(path, pa.table({"number": [2], "text": ["b"]}, SCHEMA), mode="overwrite")
    monkeypatch.setattr(files, "opened", lambda _: seen)
    assert files.vacuum(path, WEEK, ()).file_count == 1
    assert not cut_off.exists()
    assert [row["number"] for row in rows(path)] == [2]


def test_files_of_versions_that_somebody_needs_stay_and_no_others(path: str) -> None:
    files.join(path, NUMBERS)
    before = rows(path)
    files.vacuum(path, NO_TIME, [3])
    assert len(rows(path, version=3)) == 6
    assert rows(path) == before
    with pytest.raises(FileNotFoundError):
        rows(path, version=4)
    assert files.state(path).folder.file_count == 1 + 3


def test_checkpoint_is_written_when_the_log_is_long_and_not_again(path: str) -> None:
    before = rows(path)
    assert files.write_checkpoint(path)
    assert not files.write_checkpoint(path)
    assert rows(path) == before
    assert len(rows(path, version=1)) == 2, "the log before it stays"


def test_version_that_a_commit_would_take_out_of_the_log_is_named(path: str) -> None:
    """delta-rs deletes old commits with each compaction, though it is told not to."""
    files.write_checkpoint(path)
    append(path, 50)
    assert files.leaves_the_log(path, [4, 2]) is None
    make_older(29.5, *Path(path, "_delta_log").iterdir())
    assert files.leaves_the_log(path, [4, 2]) == 2
    assert files.leaves_the_log(path, [COMMITS]) is None, "no checkpoint comes after it"
    assert files.leaves_the_log(path, []) is None
    make_older(31, *Path(path, "_delta_log").iterdir())
    files.shorten_log(path)
    assert not Path(path, "_delta_log", f"{2:020d}.json").exists()
    assert len(rows(path)) == 2 * (COMMITS + 1)
