"""Which packages could not be delivered, again and again?"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.contracts.rules import ALERT_COUNT, ALERT_WINDOW, Status
from pipelines.tables import GOLD_FAILED_DELIVERY_ALERTS
from pipelines.transforms.windows import MICROSECOND


def failed_delivery_alerts(new_scans: DataFrame, scans: DataFrame) -> DataFrame:
    """Every alert that new scans raise or change, the ones that *follow* a late failure included.

    A failure at t counts in the alerts of its package in [t, t + 1 h). Scans are never taken back, so no alert ever
    goes away: by (package, time), the rows replace the old ones.

    Args:
        new_scans: New rows of silver.ship_events.
        scans: silver.ship_events with these scans in it; at least those less than an hour from any of them.
    """
    new = _failures(new_scans).distinct().alias("new")
    since_new, hour = F.col("near.occurred_at") - F.col("new.occurred_at"), F.lit(ALERT_WINDOW)
    near = _of_packages(_failures(scans), new, (since_new > -hour) & (since_new < hour))
    up_to_an_hour = (
        Window.partitionBy("tracking_number")
        .orderBy(F.unix_micros("occurred_at"))
        .rangeBetween(-(ALERT_WINDOW // MICROSECOND) + 1, Window.currentRow)
    )
    alerts = (
        near.withColumn("failure_count", F.count("*").over(up_to_an_hour))
        .withColumn("first_failed_at", F.min("occurred_at").over(up_to_an_hour))
        .where(F.col("failure_count") >= ALERT_COUNT)
        .distinct()  # failures at one moment make one alert
    )
    changed = _of_packages(alerts, new, (since_new >= F.lit(0 * ALERT_WINDOW)) & (since_new < hour))
    return changed.select(*GOLD_FAILED_DELIVERY_ALERTS.column_names)


def _failures(scans: DataFrame) -> DataFrame:
    failed = F.col("status_code") == Status.DELIVERY_FAILED.value
    return scans.where(failed).select("tracking_number", "occurred_at")


def _of_packages(rows: DataFrame, new: DataFrame, is_close: Column) -> DataFrame:
    """The rows that are close to a new failure of the same package."""
    same_package = F.col("near.tracking_number") == F.col("new.tracking_number")
    return rows.alias("near").join(F.broadcast(new), same_package & is_close, "left_semi")
