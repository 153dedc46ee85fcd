"""Delta tables: made from their records, written once per transaction."""

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.errors import LakeMismatch
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import MANY, Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.tables import GOLD_REMAINING_STOPS, TABLES, Column, Table
from tests.frames import table_frame

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


@pytest.fixture(params=[1, MANY], ids=["few", "many"])
def expected(request: pytest.FixtureRequest) -> int:
    """Few rows are written by delta-rs, many by Spark."""
    return int(request.param)


def rows(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(values, "id BIGINT, colour STRING")


def stored(lake: Lake) -> list[tuple[int, str]]:
    return sorted((row["id"], row["colour"]) for row in lake.read(COLOURS).collect())


def test_every_table_is_created_from_its_record_and_recognised_again(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path / "lake"))
    for table in TABLES:
        lake.ensure(table)
        lake.ensure(table)
    columns = {field.name: field for field in lake.read(GOLD_REMAINING_STOPS).schema}
    assert list(columns) == GOLD_REMAINING_STOPS.column_names
    assert columns["end_stop_id"].metadata["comment"].startswith("Last stop of the route in force")
    assert not columns["tracking_number"].nullable


def test_append_adds_rows_once_per_transaction(spark: SparkSession, lake: Lake, expected: int) -> None:
    first = lake.append(rows(spark, (1, "red"), (2, "blue")), COLOURS, Transaction("a", 0), expected)
    again = lake.append(rows(spark, (1, "red"), (2, "blue")), COLOURS, Transaction("a", 0), expected)
    assert stored(lake) == [(1, "red"), (2, "blue")]
    assert first == again
    assert (first.version, first.row_count) == (1, 2)


def test_merge_replaces_rows_by_key_once_per_transaction(spark: SparkSession, lake: Lake, expected: int) -> None:
    lake.append(rows(spark, (1, "red"), (2, "blue")), COLOURS, Transaction("a", 0), expected)
    first = lake.merge(rows(spark, (2, "green"), (3, "white")), COLOURS, Transaction("b", 0), expected)
    assert stored(lake) == [(1, "red"), (2, "green"), (3, "white")]
    assert lake.merge(rows(spark, (2, "black")), COLOURS, Transaction("b", 0), expected) == first
    assert stored(lake) == [(1, "red"), (2, "green"), (3, "white")]


def test_add_sums_the_measures_by_key_once_per_transaction_and_a_null_in_a_key_is_a_value(
    spark: SparkSession, lake: Lake, expected: int
) -> None:
    def sold(*values: tuple[str | None, int | None, int, int]) -> DataFrame:
        return table_frame(spark, SALES, values)

    lake.ensure(SALES)
    lake.add(sold(("red", 1, 5, 1), (None, None, 7, 2)), SALES, Transaction("a", 0), expected)
    first = lake.add(
        sold(("red", 1, 10, 0), (None, None, 20, 3), ("red", None, 1, 1)), SALES, Transaction("a", 1), expected
    )
    assert lake.add(sold(("red", 1, 10, 0)), SALES, Transaction("a", 1), expected) == first
    assert {tuple(row) for row in lake.read(SALES).collect()} == {
        ("red", 1, 15, 1),
        (None, None, 27, 5),
        ("red", None, 1, 1),
    }
    assert lake.read(SALES).count() == 3


def test_repeated_write_finds_its_commit_behind_later_ones(spark: SparkSession, lake: Lake, expected: int) -> None:
    first = lake.append(rows(spark, (1, "red")), COLOURS, Transaction("a", 0), expected)
    lake.append(rows(spark, (2, "blue")), COLOURS, Transaction("other", 0), expected)
    assert lake.append(rows(spark, (1, "red")), COLOURS, Transaction("a", 0), expected) == first


def test_a_write_after_a_merge_is_not_taken_for_its_repeat(spark: SparkSession, lake: Lake) -> None:
    """The session keeps a MERGE's transaction until it is told otherwise; the next write without one would vanish."""
    lake.merge(rows(spark, (1, "red")), COLOURS, Transaction("a", 5))
    rows(spark, (2, "blue")).write.format("delta").mode("append").save(lake.path(COLOURS))
    assert stored(lake) == [(1, "red"), (2, "blue")]


def test_an_app_id_that_does_not_name_the_checkpoint_loses_rows_silently(
    spark: SparkSession, lake: Lake, expected: int
) -> None:
    """Why the app id carries the checkpoint's identity: a new checkpoint counts its batches from 0 again."""
    lake.append(rows(spark, (1, "red")), COLOURS, Transaction("flow", 7), expected)
    with pytest.raises(LakeMismatch, match="no commit in its log carries it"):
        lake.append(rows(spark, (2, "blue")), COLOURS, Transaction("flow", 0), expected)
    assert stored(lake) == [(1, "red")]
    lake.append(rows(spark, (2, "blue")), COLOURS, Transaction("new-checkpoint/flow", 0), expected)
    assert stored(lake) == [(1, "red"), (2, "blue")]


def test_constraint_refuses_a_row_that_breaks_it(spark: SparkSession, lake: Lake, expected: int) -> None:
    with pytest.raises(Exception, match="id_is_positive"):
        lake.append(rows(spark, (-1, "red")), COLOURS, Transaction("a", 0), expected)
    assert stored(lake) == []


def test_rows_that_are_few_but_too_large_for_this_process_are_written_by_spark(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_rs, "append", lambda *_: pytest.fail("they were handed to this process"))
    large = spark.range(1, 41).select("id", F.expr("repeat('x', 8000000)").alias("colour"))
    assert lake.append(large, COLOURS, Transaction("a", 0), expected=40).row_count == 40


def test_few_rows_of_any_other_failure_fail(spark: SparkSession, lake: Lake) -> None:
    broken = rows(spark, (1, "red")).withColumn("colour", F.raise_error(F.lit("out of paint")).cast("string"))
    with pytest.raises(Exception, match="out of paint"):
        lake.append(broken, COLOURS, Transaction("a", 0), expected=1)


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
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also where the earlier one was taken away, and a crash kept today's from coming."""
    earlier = replace(COLOURS, constraints={"id_is_positive": "id > 1"})
    today = replace(COLOURS, earlier_constraints={"id_is_positive": ("id > 1",)})
    lake = Lake(spark, str(tmp_path))
    lake.ensure(earlier)
    version = lake.version(earlier)

    lake.ensure(today)

    assert list(lake.log(today).changes(after=version)) == []
    assert lake.version(today) == version + 2
    lake.append(rows(spark, (1, "red")), today, Transaction("a/b", 0), 1)
    DeltaTable(lake.path(today)).alter.drop_constraint("id_is_positive")
    Lake(spark, str(tmp_path)).ensure(today)
    with pytest.raises(LakeMismatch, match="id_is_positive"):
        Lake(spark, str(tmp_path)).ensure(replace(COLOURS, constraints={"id_is_positive": "id > 2"}))
