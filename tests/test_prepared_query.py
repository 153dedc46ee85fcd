"""A query that Spark plans and compiles once, over one frame after another."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.prepared_query import PreparedQuery


class Counted:
    """A query, and how often it was made."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, rows: DataFrame) -> DataFrame:
        self.made += 1
        twice = rows.withColumn("twice", F.col("id") * 2)
        listed = twice.withColumn("listed", F.transform(F.array("name"), F.upper))  # has no code of its own
        return listed.select("twice", F.upper("name").alias("name"), "listed")


def frame(spark: SparkSession, *rows: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id BIGINT NOT NULL, name STRING")


def test_rows_are_those_of_each_frame_and_the_query_is_made_once(spark: SparkSession) -> None:
    query = Counted()
    prepared = PreparedQuery(query)
    for rows in ([(1, "a"), (2, "b")], [(5, "c")], [], [(3, "d"), (4, "e")]):
        given = frame(spark, *rows)
        assert prepared.over(given).collect() == Counted()(given).collect()
    assert query.made == 1


def test_tasks_are_given_the_rows_and_make_bytes_of_them(spark: SparkSession) -> None:
    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"bytes": [json.dumps(row).encode() for row in batch.to_pylist()]})

    prepared = PreparedQuery(Counted())
    for given in (frame(spark, (1, "a"), (2, "b")), frame(spark), frame(spark, (3, "c"))):
        made = sorted(json.loads(row)["twice"] for row in prepared.given_to(told, given))
        assert made == [row["twice"] for row in prepared.over(given).collect()]


def test_class_that_would_be_too_large_for_the_jvm_is_one_for_each_step(spark: SparkSession) -> None:
    limit = "spark.sql.codegen.hugeMethodLimit"
    before = spark.conf.get(limit)
    assert before is not None
    given = frame(spark, (1, "a"), (2, "b"))
    try:
        spark.conf.set(limit, "1")
        found = PreparedQuery(Counted()).over(given).collect()
    finally:
        spark.conf.set(limit, before)
    assert found == Counted()(given).collect()


def test_query_that_does_more_than_make_columns_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedOperationException, match="a prepared query cannot have a Filter"):
        PreparedQuery(lambda rows: rows.where("id > 1")).over(frame(spark, (1, "a")))


def test_first_frame_is_not_read_for_another_one(spark: SparkSession) -> None:
    prepared = PreparedQuery(Counted())
    first = prepared.over(frame(spark, (2, "first")))
    other = prepared.over(frame(spark, (3, "other")))
    assert [row["name"] for row in first.union(other).collect()] == ["FIRST", "OTHER"]


def test_frame_of_other_columns_is_planned_for_itself(spark: SparkSession) -> None:
    query = Counted()
    prepared = PreparedQuery(query)
    prepared.over(frame(spark, (2, "a")))
    nullable = spark.createDataFrame([(7, "b"), (None, "c")], "id BIGINT, name STRING")
    assert [row["twice"] for row in prepared.over(nullable).collect()] == [14, None]
    assert query.made == 2


def test_frame_of_another_session_is_planned_for_itself(spark: SparkSession) -> None:
    query = Counted()
    prepared = PreparedQuery(query)
    prepared.over(frame(spark, (2, "a")))
    other = spark.newSession()
    assert prepared.over(frame(other, (2, "a"))).sparkSession is other
    assert query.made == 2
