"""Expectations of the reports."""

from expectations.truth import Truth, made_anew
from pipelines.contracts.rules import Status
from pipelines.tables import GOLD_REMAINING_STOPS

IS_DELIVERED = f"coalesce(status_code = '{Status.DELIVERED.value}', false)"
ONE_PASS = f"""
    WITH package AS (
        SELECT tracking_number, max(scan) AS scan, max(route) AS route FROM (
            SELECT tracking_number, NULL AS route,
                struct(
                    occurred_at, current_stop_id, {IS_DELIVERED}, kafka_timestamp, kafka_partition, kafka_offset
                ) AS scan
            FROM silver.ship_events UNION ALL
            SELECT tracking_number, struct(kafka_timestamp, kafka_partition, kafka_offset, end_stop_id), NULL
            FROM silver.ship_routes
        ) GROUP BY tracking_number
    ),
    report AS (
        SELECT * FROM gold.remaining_stops UNION ALL
        SELECT * FROM ops.expired_reports LEFT ANTI JOIN gold.remaining_stops USING (tracking_number)
    ),
    compared AS (
        SELECT package.tracking_number IS NOT NULL AND report.tracking_number IS NOT NULL AS is_on_both_sides,
            struct(scan.occurred_at, scan.kafka_partition, scan.kafka_offset, scan.current_stop_id) IS DISTINCT FROM
            struct(report.occurred_at, event_kafka_partition, event_kafka_offset, report.current_stop_id)
                AS is_of_another_scan,
            struct(route.kafka_partition, route.kafka_offset, route.end_stop_id) IS DISTINCT FROM
            struct(route_kafka_partition, route_kafka_offset, report.end_stop_id) AS is_of_another_route
        FROM package FULL JOIN report USING (tracking_number)
    )
    SELECT struct(
        count_if(NOT is_on_both_sides) AS on_one_side,
        count_if(is_on_both_sides AND is_of_another_scan) AS of_another_scan,
        count_if(is_on_both_sides AND is_of_another_route) AS of_another_route
    ) FROM compared
"""
"""What reports are compared for, at once: Spark runs the same subquery once, whichever of its numbers is asked for.

`scan` and `route` are the greatest of each package.
"""

TRUTHS = (
    Truth(
        name="packages_have_a_report",
        meaning="Each package of silver has a report, here or in ops.expired_reports, and there is no other: number of "
        "packages on one side only.",
        sql=f"SELECT ({ONE_PASS}).on_one_side",
        catches="packages that nobody can find, and reports of packages that nobody scanned.",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
    Truth(
        name="reports_are_of_the_latest_scan",
        meaning="A report shows moment, record and stop of the package's latest scan in silver: number of those that "
        "do not.",
        sql=f"SELECT ({ONE_PASS}).of_another_scan",
        catches="people who are told an old place, because a scan went past the report.",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
    Truth(
        name="reports_are_of_the_last_route",
        meaning="A report shows record and last stop of the package's newest route in silver: number of those that do "
        "not.",
        sql=f"SELECT ({ONE_PASS}).of_another_route",
        catches="people who are told the stops of a route that was changed or withdrawn.",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
    Truth(
        name="negative_stops_share",
        meaning="Share of the known remaining stops that is below 0.",
        sql="SELECT avg(CAST(number_of_remaining_stops < 0 AS INT)) FROM gold.remaining_stops",
        catches="packages that go beyond the end of their route: routes that come late, or are planned wrongly.",
        remedy="look at a few with `pts report`, and tell who plans the routes; a new route mends the report.",
        severity="warning",
        within=lambda quality: (0, quality.negative_stops_share),
    ),
)
