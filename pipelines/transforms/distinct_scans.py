"""Which accepted scans of a batch are new?"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.tables import SILVER_SHIP_EVENTS


def distinct_scans(judged: DataFrame, known: DataFrame) -> DataFrame:
    """One row per accepted scan of `judged` that is neither in `known` nor told by a lower offset of the same batch.

    Because a batch holds a contiguous range of every partition, and all records of a package are in one, the scan kept
    is the one with the lowest offset however the log is cut into batches.

    Args:
        judged: Records of topic ship-events with their verdicts.
        known: Scans that earlier batches kept: at least those that happened at the same times as the batch's.
    """
    earliest_first = Window.partitionBy(*SCAN_IDENTITY).orderBy("kafka_partition", "kafka_offset")
    accepted = judged.where(F.col("reason").isNull())
    told_once = (
        accepted.withColumn("nth", F.row_number().over(earliest_first))
        .where("nth = 1")
        .select(*SILVER_SHIP_EVENTS.column_names)
    )
    # The batch's scans are fewer than the known ones: the first join finds the few of these that matter.
    told_before = known.alias("known").join(
        accepted.select(*SCAN_IDENTITY).alias("told"), _same("known", "told"), "left_semi"
    )
    return told_once.alias("told").join(F.broadcast(told_before.alias("known")), _same("known", "told"), "left_anti")


def _same(left: str, right: str) -> Column:
    return reduce(
        Column.__and__, (F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}")) for name in SCAN_IDENTITY)
    )
