"""How busy is each stop?"""

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW, STOP, Status
from pipelines.tables import GOLD_STOP_ACTIVITY
from pipelines.transforms.windows import interval, sliding_starts, tumbling_start

PLACE = ", ".join(STOP)

STOP_ACTIVITY = f"""
    WITH pane AS (
        SELECT {tumbling_start("occurred_at", SLIDE)} AS pane_start, {PLACE}, count(*) AS scan_count,
            count(*) FILTER (status_code = '{Status.DELIVERED}') AS delivered_count,
            count(*) FILTER (status_code = '{Status.DELIVERY_FAILED}') AS failed_count
        FROM scans GROUP BY ALL
    ), in_windows AS (
        SELECT unnest({sliding_starts("pane_start")}) AS window_start, * EXCLUDE (pane_start) FROM pane
    )
    SELECT window_start, window_start + {interval(SLIDING_WINDOW)} AS window_end, {PLACE},
        {", ".join(f"sum({name}) AS {name}" for name in GOLD_STOP_ACTIVITY.measures)}
    FROM in_windows GROUP BY ALL
"""
"""Rows of gold.stop_activity that count `scans` alone: added to those of other scans, they count both.

Scans are first counted in panes as long as the slide, because that leaves far fewer rows to put into windows.

- `scans`: rows of silver.ship_events.
"""
