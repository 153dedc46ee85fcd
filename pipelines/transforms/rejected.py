"""Which records go to quarantine, and why?"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.tables import SILVER_QUARANTINE
from pipelines.transforms.judge import detail


def rejected_events(judged: DataFrame) -> DataFrame:
    """One row per record of topic ship-events that has a reason, with its bytes."""
    return _rejected(judged, SHIP_EVENTS)


def rejected_routes(judged: DataFrame) -> DataFrame:
    """One row per record of topic ship-routes that has a reason, with its bytes."""
    return _rejected(judged, SHIP_ROUTES)


def _rejected(judged: DataFrame, topic: Topic) -> DataFrame:
    rows = judged.where(F.col("reason").isNotNull()).withColumn("detail", detail(topic))
    return rows.select(*SILVER_QUARANTINE.column_names)
