"""Which stops are the busiest of each window?"""

from pipelines.contracts.rules import LEADERBOARD_SIZE, STOP
from pipelines.tables import GOLD_BUSIEST_STOPS
from pipelines.transforms.windows import sliding_starts

BUSIEST_STOPS = f"""
    WITH touched AS (SELECT DISTINCT unnest({sliding_starts("occurred_at")}) AS window_start FROM scans)
    SELECT {", ".join(GOLD_BUSIEST_STOPS.column_names)} FROM (
        SELECT *, row_number() OVER (
            PARTITION BY window_start ORDER BY scan_count DESC, {", ".join(f"{name} NULLS FIRST" for name in STOP)}
        ) AS rank
        FROM activity SEMI JOIN touched USING (window_start)
    ) WHERE rank <= {LEADERBOARD_SIZE}
"""
"""The whole leaderboard of every window that new scans touch.

A scan can move stops up and down, but a board never gets shorter: by (window, rank), the rows replace the old ones.

- `scans`: new rows of silver.ship_events.
- `activity`: gold.stop_activity with these scans in it.
"""
