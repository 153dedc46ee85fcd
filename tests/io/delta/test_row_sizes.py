"""A row that is larger than its share is marked, whichever of its bytes make it so, and loses them."""

import pytest
from pyspark.sql import SparkSession

from pipelines.io.delta import row_sizes
from pipelines.io.delta.row_sizes import RAW, all_small, long_columns, marked
from pipelines.tables import GOLD_CARRIER_THROUGHPUT, SILVER_QUARANTINE
from tests.frames import record_frame
from tests.oracle.records import LogRecord


@pytest.fixture(autouse=True)
def most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sizes, "MOST_BYTES", 200)
    monkeypatch.setattr(row_sizes, "LEAST_SHARE", 10)


def record(key: bytes | None = None, value: bytes | None = None, header: bytes | None = None) -> LogRecord:
    return LogRecord("ship-events", 0, 0, 0, key, value, (("h", header),) if header else None)


def test_rows_within_their_share_are_taken_as_they_are(spark: SparkSession) -> None:
    rows = record_frame(
        spark, [record(), record(b"k" * 50, b"v" * 50), record(value=b"v" * 100), record(b"", b"", b"h")]
    )
    taken = all_small(marked(rows, RAW, 2).toArrow())
    assert taken is not None
    assert taken.equals(rows.toArrow())


@pytest.mark.parametrize(
    "large",
    [record(value=b"v" * 101), record(b"k" * 50, b"v" * 51), record(b"k" * 101), record(header=b"h" * 101)],
)
def test_rows_of_which_one_is_above_its_share_are_not_taken(spark: SparkSession, large: LogRecord) -> None:
    taken = marked(record_frame(spark, [record(value=b"v"), large]), RAW, 2).toArrow()
    assert taken.num_rows == 2
    assert taken.nbytes < 200
    assert all_small(taken) is None


@pytest.mark.parametrize(("size", "is_taken"), [(10, True), (11, False)])
def test_however_many_rows_are_expected_each_has_the_least_share(
    spark: SparkSession, size: int, is_taken: bool
) -> None:
    taken = all_small(marked(record_frame(spark, [record(value=b"v" * size)]), RAW, 1_000).toArrow())
    assert (taken is not None) == is_taken


def test_texts_and_bytes_of_a_table_may_be_long() -> None:
    assert set(long_columns(SILVER_QUARANTINE)) == {"kafka_topic", "key", "value", "headers", "reason", "detail"}
    assert long_columns(GOLD_CARRIER_THROUGHPUT) == ("carrier_code", "status_code")
