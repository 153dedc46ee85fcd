"""Bronze: the records as they stand on the log."""

from pipelines.tables import BRONZE_SHIP_EVENTS

BRONZE_RECORDS = f"SELECT {', '.join(BRONZE_SHIP_EVENTS.column_names)} FROM records"
"""One row per record, untouched, stamped with the start of the micro-batch that read it.

- `records`: judged records of either topic, with `ingested_at`.
"""
