"""Which routes and withdrawals does a batch bring?"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.tables import SILVER_SHIP_ROUTES


def route_versions(judged: DataFrame) -> DataFrame:
    """One row per accepted record of topic ship-routes; a withdrawal has neither route_id nor end_stop_id."""
    return judged.where(F.col("reason").isNull()).select(*SILVER_SHIP_ROUTES.column_names)
