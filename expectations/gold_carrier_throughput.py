"""Expectations of the carriers' hours."""

from expectations.truth import Truth, claimed

DAYS = 7
EARLIER = ", ".join(f"newest.hour - INTERVAL {days} DAYS" for days in range(1, DAYS + 1))

TRUTHS = (
    claimed(
        "carrier_throughput_counts_every_scan",
        catches="late scans that were not added, or scans that were added twice.",
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
            SELECT coalesce(sum(scan_count) FILTER (hourly.hour = newest.hour), 0)
                / avg(scan_count) FILTER (hourly.hour IN ({EARLIER}))
            FROM hourly CROSS JOIN newest
        """,
        catches="a producer or a carrier that fell silent, or sends again what it has sent under other times.",
        remedy="compare the carriers' hours in gold.carrier_throughput with those of the day before; ask the one that "
        "stands out. A feast day is no fault.",
        severity="warning",
        within=lambda quality: (1 / quality.volume_factor, quality.volume_factor),
    ),
)
