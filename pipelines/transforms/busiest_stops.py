"""Which stops are the busiest of each window?"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.contracts.rules import LEADERBOARD_SIZE, STOP
from pipelines.tables import GOLD_BUSIEST_STOPS
from pipelines.transforms.windows import sliding_starts


def busiest_stops(scans: DataFrame, activity: DataFrame) -> DataFrame:
    """The whole leaderboard of every window that new scans touch.

    A scan can move stops up and down, but a board never gets shorter: by (window, rank), the rows replace the old ones.

    Args:
        scans: New rows of silver.ship_events.
        activity: gold.stop_activity with these scans in it.
    """
    touched = scans.select(F.explode(sliding_starts(F.col("occurred_at"))).alias("window_start")).distinct()
    names = (F.col(name).asc_nulls_first() for name in STOP)
    board = Window.partitionBy("window_start").orderBy(F.col("scan_count").desc(), *names)
    return (
        activity.join(F.broadcast(touched), "window_start", "left_semi")
        .withColumn("rank", F.row_number().over(board))
        .where(F.col("rank") <= LEADERBOARD_SIZE)
        .select(*GOLD_BUSIEST_STOPS.column_names)
    )
