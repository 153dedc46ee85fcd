"""Delta tables: made from their records, written once per transaction."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from duckdb import DuckDBPyConnection as Cursor
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from pipelines.errors import InvalidInput, LakeMismatch
from pipelines.io.delta import data_files, duck
from pipelines.io.delta import lake as lake_module
from pipelines.io.delta.data_files import write
from pipelines.io.delta.definition import schema_of
from pipelines.io.delta.delta_table import LONG_LOG, last_checkpoint
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.tables import GOLD_REMAINING_STOPS, NOT_IN_THE_LEDGER, TABLES, Column, Table
from tests.permissions import permitted_beyond

COLOURS = Table(
    name="gold.colours",
    doc="A table's table.",
    grain="one row per id",
    key=("id",),
    constraints={"id_is_positive": "id > 0"},
    columns=(Column("id", "BIGINT", "It's the id.", is_required=True), Column("colour", "STRING", "The colour.")),
)


SALES = Table(
    name="gold.sales",
    doc="How many were sold.",
    grain="one row per colour and size",
    key=("colour", "size"),
    measures=("sold_count", "returned_count"),
    columns=(
        Column("colour", "STRING", "The colour."),
        Column("size", "INT", "The size."),
        Column("sold_count", "BIGINT", "Those sold.", is_required=True),
        Column("returned_count", "BIGINT", "Those that came back.", is_required=True),
    ),
)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    made = Lake(spark, str(tmp_path / "lake"))
    made.ensure(COLOURS)
    return made


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with closing(duck.cursor()) as made:
        yield made


def test_files_that_java_writes_are_this_users_alone(lake: Lake) -> None:
    """Hadoop sets permissions, whatever the process's umask is."""
    lake.spark.range(10).write.parquet(f"{lake.root}/gold/numbers")

    assert permitted_beyond(0o077, Path(lake.root, "gold", "numbers")) == {}


def rows(*values: tuple[int, str]) -> str:
    return f"SELECT * FROM (VALUES {', '.join(map(str, values))}) AS of(id, colour)"


def stored(lake: Lake) -> list[tuple[int, str]]:
    return sorted((row["id"], row["colour"]) for row in lake.read(COLOURS).collect())


def test_every_table_is_created_from_its_record_and_recognised_again(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path / "lake"))
    for table in TABLES:
        lake.ensure(table)
        lake.ensure(table)
    there = spark.read.format("delta").load(lake.path(GOLD_REMAINING_STOPS))
    columns = {field.name: field for field in there.schema}
    assert list(columns) == GOLD_REMAINING_STOPS.column_names
    assert columns["end_stop_id"].metadata["comment"].startswith("Last stop of the route in force")
    assert not columns["tracking_number"].nullable


def test_append_adds_rows_once_per_transaction(lake: Lake, cursor: Cursor) -> None:
    first = lake.append(cursor, rows((1, "red"), (2, "blue")), COLOURS, Transaction("a", 0))
    again = lake.append(cursor, rows((1, "red"), (2, "blue")), COLOURS, Transaction("a", 0))
    assert stored(lake) == [(1, "red"), (2, "blue")]
    assert first
    assert first == again
    assert (first.version, first.row_count) == (1, 2)


def test_log_gets_a_checkpoint_before_it_is_long(lake: Lake, cursor: Cursor) -> None:
    for number in range(LONG_LOG - 1):
        lake.append(cursor, rows((1, "red")), COLOURS, Transaction("a", number))
    assert last_checkpoint(lake.path(COLOURS)) is None
    lake.append(cursor, rows((1, "red")), COLOURS, Transaction("a", LONG_LOG))
    assert last_checkpoint(lake.path(COLOURS)) == LONG_LOG
    assert len(stored(lake)) == LONG_LOG


def test_write_of_no_rows_is_no_commit(lake: Lake, cursor: Cursor) -> None:
    assert lake.append(cursor, f"{rows((1, 'red'))} WHERE false", COLOURS, Transaction("a", 0)) is None
    assert lake.merge(cursor, f"{rows((1, 'red'))} WHERE false", COLOURS, Transaction("a", 0)) is None
    assert lake.commits.version(COLOURS) == 0


def test_merge_replaces_rows_by_key_once_per_transaction(lake: Lake, cursor: Cursor) -> None:
    lake.append(cursor, rows((1, "red"), (2, "blue")), COLOURS, Transaction("a", 0))
    first = lake.merge(cursor, rows((2, "green"), (3, "white")), COLOURS, Transaction("b", 0))
    assert stored(lake) == [(1, "red"), (2, "green"), (3, "white")]
    assert lake.merge(cursor, rows((2, "black")), COLOURS, Transaction("b", 0)) == first
    assert stored(lake) == [(1, "red"), (2, "green"), (3, "white")]


def test_merge_leaves_files_as_they_are_that_have_none_of_its_keys(lake: Lake, cursor: Cursor) -> None:
    for number in (1, 2, 3):
        lake.append(cursor, rows((number, "red"), (number + 10, "blue")), COLOURS, Transaction("a", number))
    before = set(lake.files(COLOURS))
    lake.merge(cursor, rows((2, "green")), COLOURS, Transaction("b", 0))
    assert len(before & set(lake.files(COLOURS))) == 2
    assert stored(lake) == [(1, "red"), (2, "green"), (3, "red"), (11, "blue"), (12, "blue"), (13, "blue")]


def test_files_are_rewritten_in_portions_and_each_new_row_with_one_of_them(
    lake: Lake, cursor: Cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What of a large table is sorted at once has to fit into memory."""
    monkeypatch.setattr(lake_module, "PORTION_BYTES", 1)
    for number in (20, 10, 30):
        lake.append(cursor, rows((number, "red"), (number + 1, "blue")), COLOURS, Transaction(f"a{number}", 0))
    written: list[str] = []

    def watched(*given: Any, **also: Any) -> Any:
        written.append(given[1])
        return write(*given, **also)

    monkeypatch.setattr(data_files, "write", watched)
    new = rows((5, "new"), (10, "green"), (15, "new"), (20, "green"), (31, "green"), (40, "new"))
    lake.merge(cursor, new, COLOURS, Transaction("b", 0))
    assert len(written) == 3
    assert stored(lake) == [
        *((5, "new"), (10, "green"), (11, "blue"), (15, "new"), (20, "green"), (21, "blue")),
        *((30, "red"), (31, "green"), (40, "new")),
    ]
    assert sorted(spans(lake)) == [(5, 15), (20, 21), (30, 40)]


@pytest.mark.parametrize("limit", ["FEW_ROWS", "FEW_BYTES", None])
def test_rows_are_written_in_order_unless_they_and_those_of_the_file_are_few(
    lake: Lake, cursor: Cursor, monkeypatch: pytest.MonkeyPatch, limit: str | None
) -> None:
    lake.append(
        cursor, "SELECT range::BIGINT AS id, 'red' AS colour FROM range(1, 30_001)", COLOURS, Transaction("a", 0)
    )
    if limit:
        monkeypatch.setattr(lake_module, limit, 0)
    lake.merge(cursor, rows((7, "green")), COLOURS, Transaction("b", 0))
    (file,) = lake.files(COLOURS)
    found = parquet.ParquetFile(file)
    ids = found.read()["id"].to_pylist()
    assert sorted(ids) == list(range(1, 30_001))
    assert (ids == sorted(ids)) == bool(limit)
    assert found.metadata.num_row_groups == (1 if limit else 2), "each core may write one"


def spans(lake: Lake) -> list[tuple[int, int]]:
    """The least and the greatest number of each file, as the log says."""
    actions = pa.table(DeltaTable(lake.path(COLOURS)).get_add_actions(flatten=True)).to_pylist()
    return [(each["min.id"], each["max.id"]) for each in actions]


def test_add_sums_the_measures_by_key_once_per_transaction_and_a_null_in_a_key_is_a_value(
    lake: Lake, cursor: Cursor
) -> None:
    def sold(*values: str) -> str:
        names = ", ".join(SALES.column_names)
        return f"SELECT * FROM (VALUES {', '.join(f'({value})' for value in values)}) AS of({names})"

    lake.ensure(SALES)
    lake.add(cursor, sold("'red', 1, 5, 1", "NULL, NULL, 7, 2"), SALES, Transaction("a", 0))
    more = sold("'red', 1, 10, 0", "NULL, NULL, 20, 3", "'red', NULL, 1, 1")
    first = lake.add(cursor, more, SALES, Transaction("a", 1))
    assert lake.add(cursor, sold("'red', 1, 10, 0"), SALES, Transaction("a", 1)) == first
    assert {tuple(row) for row in lake.read(SALES).collect()} == {
        ("red", 1, 15, 1),
        (None, None, 27, 5),
        ("red", None, 1, 1),
    }
    assert lake.read(SALES).count() == 3


def test_rows_are_taken_out_by_condition_and_by_columns(lake: Lake, cursor: Cursor) -> None:
    lake.append(cursor, rows((1, "red"), (2, "blue"), (3, "red")), COLOURS, Transaction("a", 0))
    lake.delete(cursor, "id = 1", COLOURS, Transaction("b", 0))
    assert stored(lake) == [(2, "blue"), (3, "red")]
    lake.take_out(cursor, "SELECT 'red' AS colour", COLOURS, Transaction("b", 1))
    assert stored(lake) == [(2, "blue")]


def test_replace_puts_rows_in_place_of_all_or_of_those_of_a_condition(lake: Lake, cursor: Cursor) -> None:
    lake.append(cursor, rows((1, "red"), (2, "blue"), (3, "red")), COLOURS, Transaction("a", 0))
    lake.replace_where(cursor, rows((4, "red")), "colour = 'red'", COLOURS, Transaction("b", 0))
    assert stored(lake) == [(2, "blue"), (4, "red")]
    lake.replace(cursor, rows((5, "white")), COLOURS, Transaction("b", 1))
    assert stored(lake) == [(5, "white")]


def test_repeated_write_finds_its_commit_behind_later_ones(lake: Lake, cursor: Cursor) -> None:
    first = lake.append(cursor, rows((1, "red")), COLOURS, Transaction("a", 0))
    lake.append(cursor, rows((2, "blue")), COLOURS, Transaction("other", 0))
    assert lake.append(cursor, rows((1, "red")), COLOURS, Transaction("a", 0)) == first


def test_an_app_id_that_does_not_name_the_checkpoint_would_lose_rows(lake: Lake, cursor: Cursor) -> None:
    """Why the app id carries the checkpoint's identity: a new checkpoint counts its batches from 0 again."""
    lake.append(cursor, rows((1, "red")), COLOURS, Transaction("flow", 7))
    with pytest.raises(LakeMismatch, match="no commit in its log carries it"):
        lake.append(cursor, rows((2, "blue")), COLOURS, Transaction("flow", 0))
    assert stored(lake) == [(1, "red")]
    lake.append(cursor, rows((2, "blue")), COLOURS, Transaction("new-checkpoint/flow", 0))
    assert stored(lake) == [(1, "red"), (2, "blue")]


@pytest.mark.parametrize(("row", "condition"), [((-1, "red"), "id_is_positive"), (("NULL", "red"), "id_is_required")])
def test_row_that_breaks_a_condition_or_lacks_a_required_column_is_refused(
    lake: Lake, cursor: Cursor, row: tuple[int | str, str], condition: str
) -> None:
    broken = f"SELECT {row[0]} AS id, '{row[1]}' AS colour"
    with pytest.raises(LakeMismatch, match=rf"gold.colours refuses rows .*{condition}"):
        lake.append(cursor, broken, COLOURS, Transaction("a", 0))
    assert stored(lake) == []


def test_other_readers_and_writers_take_the_files_as_their_own(lake: Lake, cursor: Cursor) -> None:
    lake.append(cursor, rows((1, "red"), (7, "blue")), COLOURS, Transaction("a", 0))
    table = DeltaTable(lake.path(COLOURS))
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()[0]
    assert (actions["num_records"], actions["min.id"], actions["max.id"], actions["null_count.id"]) == (2, 1, 7, 0)
    assert lake.spark.read.format("delta").load(lake.path(COLOURS)).where("id = 7").count() == 1
    table.update(updates={"colour": "'green'"}, predicate="id = 1")
    assert stored(lake) == [(1, "green"), (7, "blue")]
    with pytest.raises(DeltaError, match="failed validation check"):
        write_deltalake(table, pa.table({"id": [-1], "colour": ["red"]}), mode="append")


@pytest.mark.parametrize("root", ["s3://bucket/lake*", "/data/lake [1]", "/data/a%20lake"])
def test_root_that_a_reader_or_writer_would_misread_is_refused(spark: SparkSession, root: str) -> None:
    with pytest.raises(InvalidInput, match="Set PTS_LAKE to another place"):
        Lake(spark, root)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (replace(COLOURS, columns=(*COLOURS.columns, Column("size", "INT", "Size."))), "column size int is missing"),
        (replace(COLOURS, columns=COLOURS.columns[:1]), "column colour string is unknown"),
        (
            replace(COLOURS, columns=(COLOURS.columns[0], Column("colour", "BIGINT", "Colour."))),
            "column colour is string, not bigint",
        ),
        (
            replace(COLOURS, columns=(Column("id", "BIGINT", "Id."), COLOURS.columns[1])),
            "column id is NOT NULL, not nullable",
        ),
        (replace(COLOURS, columns=COLOURS.columns[::-1]), "the columns are in the order id, colour, not colour, id"),
        (replace(COLOURS, constraints={"id_is_positive": "id > 1"}), "id_is_positive is 'id > 0', not 'id > 1'"),
        (replace(COLOURS, constraints={}), "property delta.constraints.id_is_positive is 'id > 0', not None"),
        (replace(COLOURS, is_append_only=True), "property delta.appendOnly is 'false', not 'true'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_drift_between_code_and_table_is_refused_with_the_difference(
    lake: Lake, changed: Table, difference: str
) -> None:
    with pytest.raises(LakeMismatch, match=difference):
        lake.ensure(changed)


def test_a_folder_with_foreign_files_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    foreign = tmp_path / "lake" / "gold" / "colours"
    foreign.mkdir(parents=True)
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(LakeMismatch, match=r"gold\.colours cannot be created"):
        Lake(spark, str(tmp_path / "lake")).ensure(COLOURS)
    assert (foreign / "notes.txt").read_text() == "mine"


def test_table_with_an_earlier_condition_gets_the_wider_one_and_is_not_taken_for_changed(
    spark: SparkSession, cursor: Cursor, tmp_path: Path
) -> None:
    """Also where the earlier one was taken away, and a crash kept today's from coming."""
    earlier = replace(COLOURS, constraints={"id_is_positive": "id > 1"})
    today = replace(COLOURS, earlier_constraints={"id_is_positive": ("id > 1",)})
    lake = Lake(spark, str(tmp_path))
    lake.ensure(earlier)
    version = lake.commits.version(earlier)

    lake.ensure(today)

    assert list(lake.log(today).changes(after=version)) == []
    assert lake.commits.version(today) == version + 2
    lake.append(cursor, rows((1, "red")), today, Transaction("a/b", 0))
    DeltaTable(lake.path(today)).alter.drop_constraint("id_is_positive")
    Lake(spark, str(tmp_path)).ensure(today)
    with pytest.raises(LakeMismatch, match="id_is_positive"):
        Lake(spark, str(tmp_path)).ensure(replace(COLOURS, constraints={"id_is_positive": "id > 2"}))


def test_columns_have_the_types_for_which_spark_takes_them(spark: SparkSession) -> None:
    for table in (*TABLES, *NOT_IN_THE_LEDGER):
        required = {True: " NOT NULL", False: ""}
        ddl = ", ".join(f"`{column.name}` {column.type}{required[column.is_required]}" for column in table.columns)
        assert schema_of(table) == T.DataType.fromDDL(ddl)
