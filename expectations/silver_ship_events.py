"""Expectations of the scans."""

from expectations.accounting import rows_are_those_counted
from expectations.truth import Truth
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.tables import SILVER_SHIP_EVENTS

TRUTHS = (
    rows_are_those_counted(SILVER_SHIP_EVENTS, "accepted_count", f"kafka_topic = '{SHIP_EVENTS.name}'"),
    Truth(
        name="packages_are_in_one_partition",
        meaning="All scans of a package are in one partition: number of packages of which they are not.",
        sql="SELECT count(*) FROM (SELECT 1 FROM silver.ship_events GROUP BY tracking_number "
        "HAVING min(kafka_partition) < max(kafka_partition))",
        catches="a producer that does not use murmur2: which of two equal scans is kept, is then chance.",
        remedy="find the producer by its records' headers in bronze.ship_events, and set its partitioner to murmur2.",
        severity="warning",
    ),
)
