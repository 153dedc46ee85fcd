"""Which packages could not be delivered, again and again?"""

from pipelines.contracts.rules import ALERT_COUNT, ALERT_WINDOW, Status
from pipelines.transforms.windows import MICROSECOND, interval

FAILED = f"status_code = '{Status.DELIVERY_FAILED}'"
HOUR = interval(ALERT_WINDOW)

FAILED_DELIVERY_ALERTS = f"""
    WITH new AS (
        SELECT DISTINCT tracking_number, occurred_at FROM new_scans WHERE {FAILED}
    ), near AS (
        SELECT tracking_number, occurred_at FROM scans AS failure WHERE {FAILED} AND EXISTS (
            FROM new WHERE new.tracking_number = failure.tracking_number
            AND failure.occurred_at > new.occurred_at - {HOUR} AND failure.occurred_at < new.occurred_at + {HOUR}
        )
    ), alert AS (
        SELECT DISTINCT tracking_number, occurred_at, count(*) OVER up_to_an_hour AS failure_count,
            min(occurred_at) OVER up_to_an_hour AS first_failed_at
        FROM near WINDOW up_to_an_hour AS (
            PARTITION BY tracking_number ORDER BY occurred_at
            RANGE BETWEEN {interval(ALERT_WINDOW - MICROSECOND)} PRECEDING AND CURRENT ROW
        ) QUALIFY failure_count >= {ALERT_COUNT}
    )
    FROM alert WHERE EXISTS (
        FROM new WHERE new.tracking_number = alert.tracking_number
        AND alert.occurred_at >= new.occurred_at AND alert.occurred_at < new.occurred_at + {HOUR}
    )
"""
"""Every alert that new scans raise or change, the ones that *follow* a late failure included.

A failure at t counts in the alerts of its package in [t, t + 1 h). Scans are never taken back, so no alert ever goes
away: by (package, time), the rows replace the old ones.

- `new_scans`: new rows of silver.ship_events.
- `scans`: silver.ship_events with these scans in it; at least those less than an hour from any of them.
"""
