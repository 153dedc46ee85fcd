"""The messages about a table whose rows are replaced, for those who read it by its messages."""

from contextlib import closing

import pyarrow as pa

from pipelines.graph import FLOWS, Flow
from pipelines.io.delta import duck
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
    with closing(duck.cursor()) as cursor:
        cursor.register("old", old)
        cursor.register("new", new)
        return cursor.sql(
            f"SELECT {key}, new.digest IS NULL AS is_gone FROM old FULL JOIN new USING ({key}) "
            "WHERE old.digest IS DISTINCT FROM new.digest"
        ).to_arrow_table()


def _publish(flow: Flow, changed: pa.Table, lake: Lake, log: RecordLog) -> int:
    if changed.num_rows == 0:
        return 0
    assert flow.publishes is not None
    (key,) = flow.into.key
    with closing(duck.cursor()) as cursor:
        cursor.register("changed", changed)
        cursor.execute(
            f"CREATE TEMP VIEW reports AS SELECT * FROM ({lake.rows(flow.into)}) "
            f"SEMI JOIN (FROM changed WHERE NOT is_gone) USING ({key})"
        )
        tombstones = f"SELECT {key}::VARCHAR AS key, NULL AS value FROM changed WHERE is_gone"
        messages = cursor.sql(f"FROM ({flow.publishes.by}) UNION ALL {tombstones}").to_arrow_table()
    log.send(messages, flow.publishes.topic.name)
    return int(changed.num_rows)
