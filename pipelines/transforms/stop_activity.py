"""How busy is each stop?"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW, STOP, Status
from pipelines.tables import GOLD_STOP_ACTIVITY
from pipelines.transforms.windows import sliding_starts, tumbling_start


def stop_activity(scans: DataFrame) -> DataFrame:
    """Rows of gold.stop_activity that count `scans` alone: added to those of other scans, they count both.

    Scans are first counted in panes as long as the slide, because that leaves far fewer rows to put into windows.

    Args:
        scans: Rows of silver.ship_events.
    """
    panes = scans.groupBy(tumbling_start(F.col("occurred_at"), SLIDE).alias("pane_start"), *STOP).agg(
        F.count("*").alias("scan_count"),
        F.count_if(F.col("status_code") == Status.DELIVERED.value).alias("delivered_count"),
        F.count_if(F.col("status_code") == Status.DELIVERY_FAILED.value).alias("failed_count"),
    )
    return (
        panes.withColumn("window_start", F.explode(sliding_starts(F.col("pane_start"))))
        .groupBy("window_start", *STOP)
        .agg(*(F.sum(name).alias(name) for name in GOLD_STOP_ACTIVITY.measures))
        .withColumn("window_end", F.col("window_start") + F.lit(SLIDING_WINDOW))
        .select(*GOLD_STOP_ACTIVITY.column_names)
    )
