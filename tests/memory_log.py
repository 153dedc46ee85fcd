"""A log in memory with the face of `KafkaLog`, for tests in which the broker is not the point."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.io.kafka.log import OffsetRange, tasks_for
from tests.frames import record_frame
from tests.oracle.records import LogRecord


class MemoryLog:
    """Serves ranges of a list of records, and keeps what is sent."""

    def __init__(self, spark: SparkSession, records: Sequence[LogRecord]) -> None:
        self._spark = spark
        self._records = records
        self.sent: list[tuple[str, str | None]] = []

    def records(self, topic: str, ranges: Iterable[OffsetRange], by_spark: bool = True) -> DataFrame:
        """As from Kafka, those of a partition are read by one task."""
        parts = [part for part in ranges if part.topic == topic]
        return record_frame(
            self._spark,
            [
                record
                for record in self._records
                if record.topic == topic
                and any(part.partition == record.partition and part.start <= record.offset < part.end for part in parts)
            ],
        ).repartition(tasks_for(self._spark, parts), "kafka_partition")

    def send(self, messages: pa.Table, topic: str) -> None:
        self.sent.extend((row["key"], row["value"]) for row in messages.to_pylist())
