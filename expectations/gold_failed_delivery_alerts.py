"""Expectations of the alerts."""

from datetime import timedelta

from expectations.truth import Truth, is_kept, made_anew
from pipelines.contracts.rules import ALERT_COUNT, ALERT_WINDOW, Status
from pipelines.tables import GOLD_FAILED_DELIVERY_ALERTS

REACH = ALERT_WINDOW // timedelta(microseconds=1) - 1
"""Microseconds before a failure of which it is counted with the failures: the window is open where it begins."""

TRUTHS = (
    Truth(
        name="alerts_follow_from_silver",
        meaning=f"There is an alert for each moment at which a package has {ALERT_COUNT} failed deliveries or more "
        "within the window, with their number and the first of them: number of moments at which it is otherwise.",
        sql=f"""
            WITH failure AS (
                SELECT tracking_number, occurred_at, count(*) AS failure_count FROM silver.ship_events
                WHERE status_code = '{Status.DELIVERY_FAILED}' GROUP BY tracking_number, occurred_at
            ),
            counted AS (
                SELECT tracking_number, occurred_at, sum(failure_count) OVER recent AS failure_count,
                    min(occurred_at) OVER recent AS first_failed_at
                FROM failure
                WINDOW recent AS (PARTITION BY tracking_number ORDER BY unix_micros(occurred_at)
                    RANGE BETWEEN {REACH} PRECEDING AND CURRENT ROW)
            ),
            expected AS (
                SELECT tracking_number, occurred_at, struct(failure_count, first_failed_at) AS alert FROM counted
                WHERE failure_count >= {ALERT_COUNT}
            ),
            found AS (
                SELECT tracking_number, occurred_at, struct(failure_count, first_failed_at) AS alert
                FROM gold.failed_delivery_alerts
            )
            SELECT count(*) FROM expected FULL JOIN found USING (tracking_number, occurred_at)
            WHERE expected.alert IS DISTINCT FROM found.alert AND {is_kept("occurred_at", GOLD_FAILED_DELIVERY_ALERTS)}
        """,
        catches="packages in trouble of which nobody is told, and alerts for nothing.",
        remedy=made_anew(GOLD_FAILED_DELIVERY_ALERTS),
    ),
)
