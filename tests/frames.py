"""Log records as DataFrames, and rows of tables as the oracle writes them."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.contracts.epoch import EPOCH
from pipelines.tables import Table
from tests.oracle.records import LogRecord

RECORD_SCHEMA = (
    "key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, "
    "kafka_topic STRING, kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP"
)


def record_frame(spark: SparkSession, records: Iterable[LogRecord]) -> DataFrame:
    """The records in the shape in which the job reads them from Kafka."""
    rows = [
        (
            record.key,
            record.value,
            None if record.headers is None else list(record.headers),
            record.topic,
            record.partition,
            record.offset,
            EPOCH + timedelta(microseconds=record.timestamp),
        )
        for record in records
    ]
    return spark.createDataFrame(rows, RECORD_SCHEMA)


def table_frame(spark: SparkSession, table: Table, rows: Iterable[tuple[Any, ...]] = ()) -> DataFrame:
    """Rows in the shape of a table."""
    return spark.createDataFrame(list(rows), ", ".join(f"`{column.name}` {column.type}" for column in table.columns))


def plain_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Rows as the oracle writes them: times are microseconds since the epoch, bytes are bytes."""
    columns = (
        F.unix_micros(field.name).alias(field.name) if field.dataType.typeName() == "timestamp" else F.col(field.name)
        for field in frame.schema
    )
    return [
        {
            name: bytes(value) if isinstance(value, bytearray) else value
            for name, value in row.asDict(recursive=True).items()
        }
        for row in frame.select(*columns).collect()
    ]


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order of their own, for comparing two sets of rows of which a row may occur twice."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())))
