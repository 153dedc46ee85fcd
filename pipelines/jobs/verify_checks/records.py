"""Is every record that the ledger says was read in bronze once, and in silver, the quarantine or neither as it says?"""

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.jobs.verify_checks.check import Check, Stage, coordinates

BRONZE = "('bronze.' || replace(kafka_topic, '-', '_'))"
SILVER = "('silver.' || replace(kafka_topic, '-', '_'))"
EXAMPLE = f"{coordinates('kafka_topic')} AS example"
IN_ORDER = "ORDER BY batch_id, kafka_topic, kafka_partition, kafka_offset"
OF_A_BATCH = "FROM batch_total WHERE expected <> found ORDER BY batch_id, kafka_topic"
IDENTITY = ", ".join(SCAN_IDENTITY)


def _coordinates_of(table: str, is_bronze: int = 0, is_silver: int = 0, is_quarantine: int = 0) -> str:
    return (
        f"SELECT kafka_topic, kafka_partition, kafka_offset, {is_bronze} AS is_bronze, {is_silver} AS is_silver, "
        f"{is_quarantine} AS is_quarantine FROM {table}"
    )


SOURCES = " UNION ALL ".join(
    [_coordinates_of(f"bronze.{topic.name.replace('-', '_')}", is_bronze=1) for topic in INPUT_TOPICS]
    + [_coordinates_of(f"silver.{topic.name.replace('-', '_')}", is_silver=1) for topic in INPUT_TOPICS]
    + [_coordinates_of("silver.quarantine", is_quarantine=1)]
)

PREPARE = (
    # The ranges of the ledger that hold records, up to the batch at which the tables are read.
    """
    CREATE TEMP TABLE taken AS FROM offset_range WHERE batch_id <= getvariable('batch_id') AND start_offset < end_offset
    """,
    # Each coordinate once: how often each layer has it, and the batch that read it; no batch for one that none read.
    f"""
    CREATE TEMP TABLE record AS
    WITH place AS (
        SELECT kafka_topic, kafka_partition, kafka_offset, sum(is_bronze)::INT AS bronze_count,
            sum(is_silver)::INT AS silver_count, sum(is_quarantine)::INT AS quarantine_count
        FROM ({SOURCES}) GROUP BY kafka_topic, kafka_partition, kafka_offset
    )
    SELECT place.*, CASE WHEN place.kafka_offset < taken.end_offset THEN taken.batch_id END AS batch_id
    FROM place ASOF LEFT JOIN taken ON place.kafka_topic = taken.kafka_topic
        AND place.kafka_partition = taken.kafka_partition AND place.kafka_offset >= taken.start_offset
    """,
    # Each batch and topic: what the ledger says of it, what the tables hold of it, and where it begins.
    f"""
    CREATE TEMP TABLE batch_total AS
    WITH held AS (
        SELECT batch_id, kafka_topic, sum(bronze_count)::BIGINT AS bronze_count,
            sum(silver_count)::BIGINT AS silver_count, sum(quarantine_count)::BIGINT AS quarantine_count,
            count_if(silver_count + quarantine_count = 0) AS neither_count
        FROM record WHERE batch_id IS NOT NULL GROUP BY batch_id, kafka_topic
    ),
    said AS (FROM batch_count WHERE batch_id <= getvariable('batch_id')),
    begun AS (
        SELECT batch_id, kafka_topic, min({coordinates("kafka_topic", offset="start_offset")}) AS example
        FROM taken GROUP BY batch_id, kafka_topic
    )
    SELECT batch_id, kafka_topic, example, COLUMNS(said.* EXCLUDE (batch_id, kafka_topic)),
        COLUMNS(held.* EXCLUDE (batch_id, kafka_topic))
    FROM said FULL JOIN held USING (batch_id, kafka_topic) LEFT JOIN begun USING (batch_id, kafka_topic)
    """,
)
