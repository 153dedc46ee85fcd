"""Which accepted scans of a batch are new?"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.tables import SILVER_SHIP_EVENTS

EARLIER = -1
"""Before every place of the batch."""


def distinct_scans(judged: DataFrame, known: DataFrame) -> DataFrame:
    """One row per accepted scan of `judged` that is neither in `known` nor told by a lower offset of the same batch.

    Because a batch holds a contiguous range of every partition, and all records of a package are in one, the scan kept
    is the one with the lowest offset however the log is cut into batches.

    Args:
        judged: Records of topic ship-events with their verdicts.
        known: Scans that earlier batches kept: at least those that happened at the same times as the batch's.
    """
    accepted = judged.where(F.col("reason").isNull()).select(*SILVER_SHIP_EVENTS.column_names)
    told = accepted.select(*SCAN_IDENTITY, _place().alias("place"))
    # Mostly the batch's scans are fewer than the known ones: the first join finds the few of these that matter.
    told_before = known.alias("known").join(told.alias("told"), _same("known", "told"), "left_semi")
    told_again = (
        told.unionByName(told_before.select(*SCAN_IDENTITY, F.lit(EARLIER).alias("place")))
        .groupBy(*SCAN_IDENTITY)
        .agg(F.min("place").alias("first_place"), F.count("*").alias("times"))
        .where("times > 1")
    )
    is_first = F.coalesce(F.col("first_place") == _place(), F.lit(True))
    return (
        accepted.alias("scan")
        .join(F.broadcast(told_again.alias("again")), _same("scan", "again"), "left_outer")
        .where(is_first)
        .select("scan.*")
    )


def _place() -> Column:
    """Partition and offset as one number, in that order, so that Spark aggregates it by hash. Offsets fit 48 bits."""
    return F.shiftleft(F.col("kafka_partition").cast("bigint"), 48) + F.col("kafka_offset")


def _same(left: str, right: str) -> Column:
    return reduce(
        Column.__and__, (F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}")) for name in SCAN_IDENTITY)
    )
