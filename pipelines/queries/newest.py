"""The tables as they are now, for questions; a large one that is deferred as fresh as the others."""

from functools import partial
from typing import Any

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.graph import DEFERRED_WHEN_LARGE
from pipelines.io.duckdb.reader import Completion, LakeReader, Rows
from pipelines.tables import OPS_BATCHES, OPS_EXPIRED_REPORTS, SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES, Table
from pipelines.transforms.expiry import going_on_from
from pipelines.transforms.remaining_stops import REMAINING_STOPS

NO_END = 1 << 62

REACHED = f"""
    WITH state AS (
        SELECT batch_id AS newest, unnest(tables, recursive := true)
        FROM (FROM {OPS_BATCHES.name} ORDER BY batch_id DESC LIMIT 1)
    )
    SELECT unnest(offsets, recursive := true)
    FROM {OPS_BATCHES.name} JOIN state ON batch_id = position WHERE table_name = ? AND position < newest
"""
"""Where the table is on the log: no rows where it is at the newest batch."""


def newest(root: str) -> LakeReader:
    """Reads each table at its newest version. Where `gold.remaining_stops` waits for a later batch, the reports that
    newer rows of silver change are as the job will make them, by the same query.

    What the table has taken in meanwhile does no harm: to fold the same rows again changes nothing.
    """
    return LakeReader(root, completion_of=partial(_completion, LakeReader(root)))


def _completion(reader: LakeReader, name: str) -> Completion | None:
    if name not in DEFERRED_WHEN_LARGE or OPS_BATCHES.name not in reader.table_names():
        return None
    reached = reader.query(REACHED, [name]).to_pylist()
    if not reached:
        return None
    scans = _since(reached, reader, SILVER_SHIP_EVENTS, SHIP_EVENTS)
    routes = _since(reached, reader, SILVER_SHIP_ROUTES, SHIP_ROUTES)
    archive = reader.rows(OPS_EXPIRED_REPORTS.name)

    def completed(stored: str) -> str:
        current = going_on_from(stored, archive.query, OPS_EXPIRED_REPORTS.key, ("new_scans", "new_routes"))
        return f"""
            WITH new_scans AS ({scans.query}), new_routes AS ({routes.query}), current AS ({current}),
                changed AS ({REMAINING_STOPS})
            FROM changed UNION ALL BY NAME FROM ({stored}) ANTI JOIN changed USING (tracking_number)
        """

    return Completion(completed, (*scans.files, *routes.files, *archive.files))


def _since(reached: list[dict[str, Any]], reader: LakeReader, table: Table, topic: Topic) -> Rows:
    """What a table got from the topic since then."""
    starts = {each["kafka_partition"]: each["end_offset"] for each in reached if each["kafka_topic"] == topic.name}
    rows = reader.rows(table.name, "kafka_offset", [(start, NO_END) for start in starts.values()])
    new = (f"(kafka_partition = {partition} AND kafka_offset >= {start})" for partition, start in starts.items())
    return Rows(f"SELECT * FROM ({rows.query}) WHERE {' OR '.join(new)}", rows.files, rows.version)
