"""Expectations of the carriers' hours."""

from expectations.truth import Truth, is_kept, made_anew
from pipelines.tables import GOLD_CARRIER_THROUGHPUT

DAYS = 7
EARLIER = ", ".join(f"newest.hour - INTERVAL {days} DAYS" for days in range(1, DAYS + 1))

TRUTHS = (
    Truth(
        name="hours_count_every_scan",
        meaning="Per hour, carrier and status, the scans are those of silver: number of rows that count otherwise, are "
        "missing or too many.",
        sql=f"""
            WITH expected AS (
                SELECT date_trunc('hour', occurred_at) AS window_start, carrier_code, status_code,
                    count(*) AS scan_count
                FROM silver.ship_events GROUP BY 1, 2, 3
            )
            SELECT count(*) FROM expected FULL JOIN gold.carrier_throughput AS found
                ON expected.window_start = found.window_start AND expected.carrier_code <=> found.carrier_code
                AND expected.status_code <=> found.status_code
            WHERE expected.scan_count IS DISTINCT FROM found.scan_count AND {
            is_kept("coalesce(expected.window_start, found.window_start) + INTERVAL 1 HOUR", GOLD_CARRIER_THROUGHPUT)
        }
        """,
        catches="late scans that were not added, or scans that were added twice.",
        remedy=made_anew(GOLD_CARRIER_THROUGHPUT),
    ),
    Truth(
        name="volume_is_as_usual",
        meaning=f"Scans of the newest whole hour, as a multiple of the mean of that hour in the {DAYS} days before.",
        # The newest hour of all is not over yet.
        sql=f"""
            WITH hourly AS (
                SELECT window_start AS hour, sum(scan_count) AS scan_count FROM gold.carrier_throughput GROUP BY hour
            ),
            newest AS (SELECT max(hour) - INTERVAL 1 HOUR AS hour FROM hourly)
            SELECT coalesce(sum(CASE WHEN hourly.hour = newest.hour THEN scan_count END), 0)
                / avg(CASE WHEN hourly.hour IN ({EARLIER}) THEN scan_count END)
            FROM hourly CROSS JOIN newest
        """,
        catches="a producer or a carrier that fell silent, or sends again what it has sent under other times.",
        remedy="compare the carriers' hours in gold.carrier_throughput with those of the day before; ask the one that "
        "stands out. A feast day is no fault.",
        severity="warning",
        within=lambda quality: (1 / quality.volume_factor, quality.volume_factor),
    ),
)
