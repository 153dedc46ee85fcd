"""Is the report of every package that of its latest scan and its last route?"""

from pipelines.checks.verify_checks.check import Check, Stage, coordinates, made_anew
from pipelines.contracts.rules import RECENCY
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.tables import GOLD_REMAINING_STOPS

SCAN_ORDER, ROUTE_ORDER = ("occurred_at", *RECENCY), RECENCY
REPORTED = "tracking_number, event_kafka_partition, event_kafka_offset, route_kafka_partition, route_kafka_offset"
LATEST_SCAN = coordinates(f"'{SHIP_EVENTS.name}'", "scan.kafka_partition", "scan.kafka_offset")
LAST_ROUTE = coordinates(f"'{SHIP_ROUTES.name}'", "route.kafka_partition", "route.kafka_offset")
REPORTED_SCAN = coordinates(f"'{SHIP_EVENTS.name}'", "event_kafka_partition", "event_kafka_offset")
REPORTED_ROUTE = coordinates(f"'{SHIP_ROUTES.name}'", "route_kafka_partition", "route_kafka_offset")


def _greatest(order: tuple[str, ...]) -> str:
    """SQL for the columns of the greatest row by these columns, as a struct."""
    return f"max({{{', '.join(f'{name!r}: {name}' for name in order)}}})"


PREPARE = (
    # Each package of silver: its latest scan and its last route record.
    f"""
    CREATE TEMP TABLE package AS
    SELECT tracking_number, scan, route
    FROM (SELECT tracking_number, {_greatest(SCAN_ORDER)} AS scan FROM silver.ship_events GROUP BY tracking_number)
    FULL JOIN (
        SELECT tracking_number, {_greatest(ROUTE_ORDER)} AS route FROM silver.ship_routes GROUP BY tracking_number
    ) USING (tracking_number)
    """,
    # The report of each package: what was let go counts until the package comes back.
    f"""
    CREATE TEMP TABLE report AS
    SELECT 'gold.remaining_stops' AS table_name, {REPORTED} FROM gold.remaining_stops UNION ALL
    SELECT 'ops.expired_reports' AS table_name, {REPORTED} FROM ops.expired_reports
    ANTI JOIN gold.remaining_stops USING (tracking_number)
    """,
)

CHECKS = (
    Check(
        name="reports_are_of_all_packages",
        meaning="gold.remaining_stops, with those of ops.expired_reports that did not come back, has one report of "
        "each package in silver.ship_events or silver.ship_routes, and no other.",
        sql=f"""
            WITH reported AS (
                SELECT tracking_number, count(*) AS report_count,
                    any_value(coalesce({REPORTED_SCAN}, {REPORTED_ROUTE})) AS source
                FROM report GROUP BY tracking_number
            )
            SELECT tracking_number, CASE WHEN scan IS NULL AND route IS NULL THEN 0 ELSE 1 END AS expected,
                coalesce(report_count, 0) AS found, coalesce({LATEST_SCAN}, {LAST_ROUTE}, source) AS example
            FROM package FULL JOIN reported USING (tracking_number)
            WHERE expected <> found ORDER BY tracking_number
        """,
        violation="silver asks for {expected} reports of package {tracking_number} (example: {example}), but "
        "gold.remaining_stops has {found}",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
    Check(
        name="reports_show_the_latest_scan",
        meaning=f"Each report comes from the package's greatest scan by ({', '.join(SCAN_ORDER)}).",
        sql=f"""
            SELECT table_name, tracking_number, {LATEST_SCAN} AS expected, {REPORTED_SCAN} AS found
            FROM report JOIN package USING (tracking_number)
            WHERE event_kafka_partition IS DISTINCT FROM scan.kafka_partition
                OR event_kafka_offset IS DISTINCT FROM scan.kafka_offset
            ORDER BY tracking_number
        """,
        violation="the latest scan of package {tracking_number} is {expected}, but {table_name} reports {found}",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
    Check(
        name="reports_show_the_last_route",
        meaning=f"Each report comes from the package's greatest route record by ({', '.join(ROUTE_ORDER)}).",
        sql=f"""
            SELECT table_name, tracking_number, {LAST_ROUTE} AS expected, {REPORTED_ROUTE} AS found
            FROM report JOIN package USING (tracking_number)
            WHERE route_kafka_partition IS DISTINCT FROM route.kafka_partition
                OR route_kafka_offset IS DISTINCT FROM route.kafka_offset
            ORDER BY tracking_number
        """,
        violation="the last route record of package {tracking_number} is {expected}, but {table_name} reports {found}",
        remedy=made_anew(GOLD_REMAINING_STOPS),
    ),
)

REPORTS = Stage(PREPARE, CHECKS)
