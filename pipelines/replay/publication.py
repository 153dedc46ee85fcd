"""What those who follow a table by its messages hear when its rows are replaced."""

import duckdb
import pyarrow as pa
from pyspark.sql import functions as F

from pipelines.graph import FLOWS, Flow
from pipelines.io.delta.lake import Lake
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.log import RecordLog
from pipelines.tables import Table


def publish(before: LakeReader, after: LakeReader, lake: Lake, log: RecordLog) -> int:
    """Sends a message for each row that is another after than before, and a tombstone for each that is gone. At least
    once: a promotion that is repeated may send them again.

    Args:
        before: The live tables.
        after: The tables that take their place.
        lake: Their lake.
        log: Where the messages go.

    Returns:
        How many were sent.
    """
    return sum(_publish(flow, _changed(flow.into, before, after), lake, log) for flow in FLOWS if flow.publishes)


def _changed(table: Table, before: LakeReader, after: LakeReader) -> pa.Table:
    """Keys of the rows that differ, with `is_gone`: by a hash of each, so that no row leaves DuckDB."""
    key = ", ".join(table.key)
    query = f"SELECT {key}, hash({', '.join(table.column_names)}) AS digest FROM {table.name}"
    old, new = before.query(query), after.query(query)
    with duckdb.connect() as connection:
        connection.register("old", old)
        connection.register("new", new)
        return connection.sql(
            f"SELECT {key}, new.digest IS NULL AS is_gone FROM old FULL JOIN new USING ({key}) "
            "WHERE old.digest IS DISTINCT FROM new.digest"
        ).to_arrow_table()


def _publish(flow: Flow, changed: pa.Table, lake: Lake, log: RecordLog) -> int:
    if changed.num_rows == 0:
        return 0
    assert flow.publishes is not None
    keys = lake.spark.createDataFrame(changed)
    rows = lake.read(flow.into).join(F.broadcast(keys.where("NOT is_gone")), list(flow.into.key), "left_semi")
    (key,) = flow.into.key
    tombstones = keys.where("is_gone").select(F.col(key).cast("string").alias("key"), F.lit(None).alias("value"))
    log.send(flow.publishes.by(rows).unionByName(tombstones), flow.publishes.topic.name, changed.num_rows)
    return int(changed.num_rows)
