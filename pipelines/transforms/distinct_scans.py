"""Which accepted scans of a batch are new?"""

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.tables import SILVER_SHIP_EVENTS

IDENTITY = ", ".join(SCAN_IDENTITY)

DISTINCT_SCANS = f"""
    WITH told_again AS (
        SELECT {IDENTITY}, min((kafka_partition, kafka_offset)) AS first_place FROM records
        WHERE reason IS NULL GROUP BY ALL HAVING count(*) > 1
    )
    SELECT {", ".join(SILVER_SHIP_EVENTS.column_names)} FROM records AS scan WHERE reason IS NULL
    AND NOT EXISTS (
        FROM told_again WHERE {{same_as_told_again}} AND first_place < (scan.kafka_partition, scan.kafka_offset)
    )
    AND NOT EXISTS (FROM known WHERE {{same_as_known}})
""".format(
    **{
        f"same_as_{other}": " AND ".join(f"{other}.{name} IS NOT DISTINCT FROM scan.{name}" for name in SCAN_IDENTITY)
        for other in ("told_again", "known")
    }
)
"""One row per accepted scan of `records` that is neither in `known` nor told by a lower offset of the same records.

Because a batch holds a contiguous range of every partition, and all records of a package are in one, the scan kept is
the one with the lowest offset however the log is cut into batches.

- `records`: judged records of topic ship-events.
- `known`: scans that earlier batches kept, at least those that happened at the same times as these.
"""
