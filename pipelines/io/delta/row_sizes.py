"""Rows may be few, and yet too large to be taken out of Spark."""

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.tables import Table

RAW = ("key", "value", "headers")
"""What makes a record large."""

MOST_BYTES = 64 << 20
"""What the texts and bytes of rows may come to that are taken out of Spark."""

LEAST_SHARE = 512
"""Bytes that each row may have however many there are: what packages send, as JSON, is some 250."""

IS_LARGE = "is_large"


def long_columns(table: Table) -> tuple[str, ...]:
    """The table's columns that may be of any length."""
    return tuple(column.name for column in table.columns if column.type == "STRING" or "BINARY" in column.type)


def marked(rows: DataFrame, long: tuple[str, ...], count: int) -> DataFrame:
    """The rows, of which about so many are expected, with column `is_large`: whether what one holds in these columns is
    more bytes than its share of `MOST_BYTES`, and than `LEAST_SHARE`. Such a row has lost it: what all rows together
    have, Spark would know only when it holds them.
    """
    if not long:
        return rows.withColumn(IS_LARGE, F.lit(False))
    size, cut = _expressions(long)
    return rows.withColumn(IS_LARGE, size > max(MOST_BYTES // max(count, 1), LEAST_SHARE)).withColumns(cut)


@cache
def _expressions(long: tuple[str, ...]) -> tuple[Column, dict[str, Column]]:
    """Made once, for each of them is some calls into the JVM."""
    size: Column = sum((F.coalesce(_length(name), F.lit(0)) for name in long), F.lit(0))
    return size, {name: F.when(~F.col(IS_LARGE), F.col(name)) for name in long}


def _length(name: str) -> Column:
    if name == "headers":
        return F.when(F.size(name) > 0, F.octet_length(F.col(name).cast("string")))
    return F.octet_length(name)


def all_small(taken: pa.Table) -> pa.Table | None:
    """What was taken out of Spark, without the mark; None when a row of it was large."""
    return None if pc.any(taken[IS_LARGE]).as_py() else taken.drop_columns([IS_LARGE])
