"""How much does each carrier do in an hour?"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.rules import TUMBLING_WINDOW
from pipelines.tables import GOLD_CARRIER_THROUGHPUT
from pipelines.transforms.windows import tumbling_start


def carrier_throughput(scans: DataFrame) -> DataFrame:
    """Rows of gold.carrier_throughput that count `scans` alone: added to those of other scans, they count both.

    Args:
        scans: Rows of silver.ship_events.
    """
    window_start = tumbling_start(F.col("occurred_at"), TUMBLING_WINDOW).alias("window_start")
    return (
        scans.groupBy(window_start, "carrier_code", "status_code")
        .agg(F.count("*").alias("scan_count"))
        .withColumn("window_end", F.col("window_start") + F.lit(TUMBLING_WINDOW))
        .select(*GOLD_CARRIER_THROUGHPUT.column_names)
    )
