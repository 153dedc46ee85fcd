"""How much does each carrier do in an hour?"""

from pipelines.contracts.rules import TUMBLING_WINDOW
from pipelines.transforms.windows import interval, tumbling_start

CARRIER_THROUGHPUT = f"""
    SELECT {tumbling_start("occurred_at", TUMBLING_WINDOW)} AS window_start,
        window_start + {interval(TUMBLING_WINDOW)} AS window_end, carrier_code, status_code, count(*) AS scan_count
    FROM scans GROUP BY ALL
"""
"""Rows of gold.carrier_throughput that count `scans` alone: added to those of other scans, they count both.

- `scans`: rows of silver.ship_events.
"""
