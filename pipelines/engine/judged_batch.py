"""What a batch's records of a topic are, looked at once before any of them is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import SHIP_EVENTS, Topic
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.row_sizes import IS_LARGE, RAW, all_small, marked
from pipelines.transforms.windows import MICROS_PER_HOUR, hour_of


@dataclass(frozen=True)
class Heard:
    """The batch's records of a topic.

    Attributes:
        records: With their verdicts; held in this process when they are few and none is large, else by Spark until the
            batch ends.
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


def hear(
    records: DataFrame,
    judge: Callable[[DataFrame], DataFrame],
    columns: Sequence[str],
    topic: Topic,
    lake: Lake,
    expected: int,
) -> Heard:
    """Judges the batch's records, once, and keeps these columns. `expected` is about how many there are."""
    if not lake.are_few(expected):
        return _held_by_spark(judge(records).select(*columns), topic)
    judged = judge(marked(records, RAW, expected)).select(*columns, IS_LARGE)
    if (few := all_small(judged.toArrow())) is None:
        return _held_by_spark(judge(records).select(*columns), topic, are_large=True)
    accepted = few.filter(pc.is_null(few["reason"]))
    schema = T.StructType([field for field in judged.schema if field.name != IS_LARGE])
    found = Heard(lake.spark.createDataFrame(few, schema), few.num_rows, few.num_rows - accepted.num_rows)
    if topic != SHIP_EVENTS:
        return found
    micros = accepted["occurred_at"].cast(pa.int64()).to_pylist()
    hours = {each // MICROS_PER_HOUR for each in micros}  # rounds down, also before 1970
    return replace(found, hours=tuple(hours), identities=accepted.select(SCAN_IDENTITY))


def _held_by_spark(records: DataFrame, topic: Topic, *, are_large: bool = False) -> Heard:
    # Large ones would leave the work no memory.
    records.persist(StorageLevel.DISK_ONLY if are_large else StorageLevel.MEMORY_AND_DISK_DESER)
    hour = hour_of(F.col("occurred_at")) if topic == SHIP_EVENTS else F.lit(None)
    read_count, rejected_count, hours = records.agg(
        F.count("*"), F.count("reason"), F.collect_set(F.when(F.col("reason").isNull(), hour))
    ).collect()[0]
    return Heard(records, read_count, rejected_count, tuple(hours))
