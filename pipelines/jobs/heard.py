"""What a batch's records of a topic are, looked at once before any of them is written."""

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import SHIP_EVENTS, Topic
from pipelines.io.lake import Lake
from pipelines.transforms.windows import MICROS_PER_HOUR, hour_of


@dataclass(frozen=True)
class Heard:
    """The batch's records of a topic.

    Attributes:
        records: With their verdicts; held in this process when they are few, else by Spark until the batch ends.
        read_count: How many there are.
        rejected_count: Those that some rule rejects.
        hours: Hours since the epoch in which the accepted scans happened.
        identities: By what the accepted scans are told apart, when they are few.
    """

    records: DataFrame
    read_count: int
    rejected_count: int
    hours: tuple[int, ...] = ()
    identities: pa.Table | None = None


def hear(records: DataFrame, topic: Topic, lake: Lake, expected: int) -> Heard:
    """Computes the judged records, once. `expected` is about how many there are."""
    if (few := lake.in_memory(records, expected)) is None:
        return _held_by_spark(records, topic)
    accepted = few.filter(pc.is_null(few["reason"]))
    found = Heard(lake.spark.createDataFrame(few, records.schema), few.num_rows, few.num_rows - accepted.num_rows)
    if topic != SHIP_EVENTS:
        return found
    micros = accepted["occurred_at"].cast(pa.int64()).to_pylist()
    hours = {each // MICROS_PER_HOUR for each in micros}  # rounds down, also before 1970
    return replace(found, hours=tuple(hours), identities=accepted.select(SCAN_IDENTITY))


def _held_by_spark(records: DataFrame, topic: Topic) -> Heard:
    records.persist()
    hour = hour_of(F.col("occurred_at")) if topic == SHIP_EVENTS else F.lit(None)
    read_count, rejected_count, hours = records.agg(
        F.count("*"), F.count("reason"), F.collect_set(F.when(F.col("reason").isNull(), hour))
    ).collect()[0]
    return Heard(records, read_count, rejected_count, tuple(hours))
