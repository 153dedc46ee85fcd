"""Is the report of every package that of its latest scan and its last route?"""

from pipelines.checks.verify_checks.check import Check, Stage, coordinates, rebuild_remedy
from pipelines.contracts.rules import RECENCY, SCAN_ORDER, Status
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.tables import GOLD_REMAINING_STOPS, SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES, Table

LATEST_SCAN = coordinates(f"'{SHIP_EVENTS.name}'", "scan.kafka_partition", "scan.kafka_offset")
LAST_ROUTE = coordinates(f"'{SHIP_ROUTES.name}'", "route.kafka_partition", "route.kafka_offset")
REPORTED_SCAN = coordinates(f"'{SHIP_EVENTS.name}'", "event_kafka_partition", "event_kafka_offset")
REPORTED_ROUTE = coordinates(f"'{SHIP_ROUTES.name}'", "route_kafka_partition", "route_kafka_offset")


def _greatest(order: tuple[str, ...]) -> str:
    """SQL for the columns of the greatest row by these columns, as a struct."""
    return f"max({{{', '.join(f'{name!r}: {name}' for name in order)}}})"


def _said_differently(silver: Table, alias: str, prefix: str) -> str:
    """SQL: whether a column of a report is not what its record in silver says; without one all of them are null."""
    same = (set(GOLD_REMAINING_STOPS.column_names) & set(silver.column_names)) - set(GOLD_REMAINING_STOPS.key)
    told = {f"{prefix}_kafka_timestamp": "kafka_timestamp", **{name: name for name in sorted(same)}}
    return " OR ".join(f"report.{column} IS DISTINCT FROM {alias}.{name}" for column, name in told.items())


PREPARE = (
    f"""
    CREATE TEMP VIEW scan AS
    SELECT *, coalesce(status_code = '{Status.DELIVERED.value}', false) AS is_delivered FROM silver.ship_events
    """,
    # Each package of silver: its latest scan and its last route record.
    f"""
    CREATE TEMP TABLE package AS
    SELECT tracking_number, scan, route
    FROM (SELECT tracking_number, {_greatest(SCAN_ORDER)} AS scan FROM scan GROUP BY tracking_number)
    FULL JOIN (
        SELECT tracking_number, {_greatest(RECENCY)} AS route FROM silver.ship_routes GROUP BY tracking_number
    ) USING (tracking_number)
    """,
    # The report of each package: what was removed counts until the package comes back.
    """
    CREATE TEMP VIEW report AS
    SELECT 'gold.remaining_stops' AS table_name, * FROM gold.remaining_stops UNION ALL BY NAME
    SELECT 'ops.expired_reports' AS table_name, * FROM ops.expired_reports
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
        remedy=rebuild_remedy(GOLD_REMAINING_STOPS),
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
        remedy=rebuild_remedy(GOLD_REMAINING_STOPS),
    ),
    Check(
        name="reports_show_the_last_route",
        meaning=f"Each report comes from the package's greatest route record by ({', '.join(RECENCY)}).",
        sql=f"""
            SELECT table_name, tracking_number, {LAST_ROUTE} AS expected, {REPORTED_ROUTE} AS found
            FROM report JOIN package USING (tracking_number)
            WHERE route_kafka_partition IS DISTINCT FROM route.kafka_partition
                OR route_kafka_offset IS DISTINCT FROM route.kafka_offset
            ORDER BY tracking_number
        """,
        violation="the last route record of package {tracking_number} is {expected}, but {table_name} reports {found}",
        remedy=rebuild_remedy(GOLD_REMAINING_STOPS),
    ),
    Check(
        name="reports_say_what_their_records_say",
        meaning="Each column of a report is that of the scan, or of the route record, that it comes from; the stops "
        "that remain are the difference of the two.",
        sql=f"""
            SELECT table_name, report.tracking_number, {REPORTED_SCAN} AS found, {REPORTED_ROUTE} AS route
            FROM report
            LEFT JOIN silver.ship_events AS scan ON report.tracking_number = scan.tracking_number
                AND event_kafka_partition = scan.kafka_partition AND event_kafka_offset = scan.kafka_offset
            LEFT JOIN silver.ship_routes AS route ON report.tracking_number = route.tracking_number
                AND route_kafka_partition = route.kafka_partition AND route_kafka_offset = route.kafka_offset
            WHERE {_said_differently(SILVER_SHIP_EVENTS, "scan", "event")}
                OR {_said_differently(SILVER_SHIP_ROUTES, "route", "route")}
                OR number_of_remaining_stops IS DISTINCT FROM route.end_stop_id - scan.current_stop_id
            ORDER BY report.tracking_number
        """,
        violation="the report of package {tracking_number} in {table_name} says something else than scan {found} and "
        "route record {route}, from which it comes",
        remedy=rebuild_remedy(GOLD_REMAINING_STOPS),
    ),
)

REPORTS = Stage(PREPARE, CHECKS)
