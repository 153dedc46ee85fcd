"""Repeats of scans that say something else than the scan that counts: were they meant to correct it?"""

import duckdb
import pyarrow as pa

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.scan_values import DETAILS, told
from pipelines.tables import BRONZE_SHIP_EVENTS, SILVER_SHIP_EVENTS

AT_ONCE = 10_000
REPEATS = f"""
    SELECT value FROM {BRONZE_SHIP_EVENTS.name} JOIN record USING (kafka_topic, kafka_partition, kafka_offset)
    WHERE silver_count + quarantine_count = 0
"""
COLUMNS = (*SCAN_IDENTITY, *DETAILS)
DIFFERING = f"""
    SELECT count(*) FROM told JOIN {SILVER_SHIP_EVENTS.name} AS scan
    ON {" AND ".join(f"told.{name} IS NOT DISTINCT FROM scan.{name}" for name in SCAN_IDENTITY)}
    WHERE {" OR ".join(f"told.{name} IS DISTINCT FROM scan.{name}" for name in DETAILS)}
"""


def count_corrections(lake: duckdb.DuckDBPyConnection, wire_format: str) -> int:
    """How many repeats differ from the scan that counts, in what does not tell one scan from another.

    Args:
        lake: With the table `record` of the checks of records.
        wire_format: How values of ship-events are written.
    """
    schema = lake.sql(f"SELECT {', '.join(COLUMNS)} FROM {SILVER_SHIP_EVENTS.name} LIMIT 0").to_arrow_table().schema
    told_again = pa.Table.from_batches(
        (
            pa.RecordBatch.from_pylist([told(value, wire_format) for value in batch["value"].to_pylist()], schema)
            for batch in lake.sql(REPEATS).to_arrow_reader(AT_ONCE)
        ),
        schema,
    )
    lake.register("told", told_again)
    ((count,),) = lake.sql(DIFFERING).fetchall()
    return int(count)
