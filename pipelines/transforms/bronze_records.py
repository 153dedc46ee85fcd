"""Bronze: the records as they stand on the log."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def archived(records: DataFrame, started_at: datetime) -> DataFrame:
    """One row per Kafka record, untouched, stamped with the start of the micro-batch that read it."""
    return records.select(
        "key", "value", "headers", "kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp",
        F.lit(started_at).alias("ingested_at"),
    )  # fmt: skip
