"""Which rows may be let go?"""

from datetime import datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.tables.record import Expiry


def is_expired(expiry: Expiry, before: datetime) -> Column:
    """Whether a row's time lies before the given one, and it is of the kind that expires. Never null."""
    return F.coalesce(F.expr(expiry.condition) & (F.col(expiry.column) < F.lit(before)), F.lit(False))
