"""Expectations of how busy the stops are."""

from datetime import timedelta

from expectations.truth import Truth, is_kept, made_anew
from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW, Status
from pipelines.tables import GOLD_STOP_ACTIVITY

LENGTH, PACE = (f"{length // timedelta(seconds=1)} seconds" for length in (SLIDING_WINDOW, SLIDE))


def sum_of_stops(count: str) -> str:
    """One number for who has how many scans: it is another one when a scan moves to another stop."""
    return f"sum(CAST(hash(country, state, city, postal_code) AS BIGINT) * {count})"


TRUTHS = (
    Truth(
        name="windows_count_every_scan",
        meaning=f"Each scan of silver is in {SLIDING_WINDOW // SLIDE} windows of its stop, as it was delivered, failed "
        "or neither: number of windows that count otherwise.",
        sql=f"""
            WITH slide AS (
                SELECT window(occurred_at, '{PACE}').start AS slide_start, count(*) AS scan_count,
                    {sum_of_stops("1")} AS stops, count_if(status_code = '{Status.DELIVERED}') AS delivered_count,
                    count_if(status_code = '{Status.DELIVERY_FAILED}') AS failed_count
                FROM silver.ship_events GROUP BY 1
            ),
            counted AS (
                SELECT window(slide_start, '{LENGTH}', '{PACE}') AS span, sum(scan_count) AS scan_count,
                    sum(stops) AS stops, sum(delivered_count) AS delivered_count, sum(failed_count) AS failed_count
                FROM slide GROUP BY 1
            ),
            expected AS (
                SELECT span.start AS window_start, span.end AS window_end,
                    struct(scan_count, delivered_count, failed_count, stops) AS counts FROM counted
            ),
            found AS (
                SELECT window_start, window_end,
                    struct(sum(scan_count) AS scan_count, sum(delivered_count) AS delivered_count,
                        sum(failed_count) AS failed_count, {sum_of_stops("scan_count")} AS stops) AS counts
                FROM gold.stop_activity GROUP BY window_start, window_end
            )
            SELECT count(*) FROM expected FULL JOIN found USING (window_start, window_end)
            WHERE expected.counts IS DISTINCT FROM found.counts AND {is_kept("window_end", GOLD_STOP_ACTIVITY)}
        """,
        catches="late scans that were not added, scans that were added twice, or under another stop.",
        remedy=made_anew(GOLD_STOP_ACTIVITY),
    ),
)
