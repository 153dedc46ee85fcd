"""Which accepted scans of a batch are new?"""

from functools import cache, reduce
from typing import NamedTuple

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
    told = _columns()
    accepted = judged.where(told.is_accepted).select(*SILVER_SHIP_EVENTS.column_names).alias("scan")
    # Mostly the batch's scans are fewer than the known ones: the first join finds the few of these that matter.
    told_before = known.alias("known").join(accepted, told.is_known, "left_semi").select(*told.earlier)
    told_again = (
        accepted.select(*told.identified)
        .unionByName(told_before)
        .groupBy(*SCAN_IDENTITY)
        .agg(*told.repeats)
        .where("times > 1")
        .alias("again")
    )
    return accepted.join(F.broadcast(told_again), told.is_again, "left_outer").where(told.is_first).select("scan.*")


class Columns(NamedTuple):
    """What the steps select and compare. Made once: each of the dozens is some calls into the JVM."""

    is_accepted: Column
    identified: tuple[Column, ...]
    earlier: tuple[Column, ...]
    is_known: Column
    repeats: tuple[Column, ...]
    is_again: Column
    is_first: Column


@cache
def _columns() -> Columns:
    identity = tuple(F.col(name) for name in SCAN_IDENTITY)
    return Columns(
        is_accepted=F.col("reason").isNull(),
        identified=(*identity, _place().alias("place")),
        earlier=(*identity, F.lit(EARLIER).cast("bigint").alias("place")),
        is_known=_same("known", "scan"),
        repeats=(F.min("place").alias("first_place"), F.count("*").alias("times")),
        is_again=_same("scan", "again"),
        is_first=F.coalesce(F.col("first_place") == _place(), F.lit(True)),
    )


def _place() -> Column:
    """Partition and offset as one number, in that order, so that Spark aggregates it by hash. Offsets fit 48 bits."""
    return F.shiftleft(F.col("kafka_partition").cast("bigint"), 48) + F.col("kafka_offset")


def _same(left: str, right: str) -> Column:
    return reduce(
        Column.__and__, (F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}")) for name in SCAN_IDENTITY)
    )
