"""Is every record that the ledger says was read in bronze once, and in silver, the quarantine or neither as it says?"""

from pipelines.checks.verify_checks.check import Check, Stage, coordinates
from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES

EXAMPLE = f"{coordinates('kafka_topic')} AS example"
IN_ORDER = "ORDER BY batch_id, kafka_topic, kafka_partition, kafka_offset"
OF_A_BATCH = "FROM batch_total WHERE expected <> found ORDER BY batch_id, kafka_topic"
IDENTITY = ", ".join(SCAN_IDENTITY)


def _name_of_table(layer: str) -> str:
    """SQL: the name of the table of a layer that has the records of a row's topic."""
    cases = " ".join(f"WHEN '{topic.name}' THEN '{layer}.{topic.table_name}'" for topic in INPUT_TOPICS)
    return f"(CASE kafka_topic {cases} END)"


BRONZE, SILVER = _name_of_table("bronze"), _name_of_table("silver")


def _coordinates_of(table: str, is_bronze: int = 0, is_silver: int = 0, is_quarantine: int = 0) -> str:
    return (
        f"SELECT kafka_topic, kafka_partition, kafka_offset, {is_bronze} AS is_bronze, {is_silver} AS is_silver, "
        f"{is_quarantine} AS is_quarantine FROM {table}"
    )


SOURCES = " UNION ALL ".join(
    [_coordinates_of(f"bronze.{topic.table_name}", is_bronze=1) for topic in INPUT_TOPICS]
    + [_coordinates_of(f"silver.{topic.table_name}", is_silver=1) for topic in INPUT_TOPICS]
    + [_coordinates_of("silver.quarantine", is_quarantine=1)]
)

PREPARE = (
    # The ranges of the ledger that hold records, up to the batch at which the tables are read.
    """
    CREATE TEMP TABLE taken AS FROM offset_range WHERE batch_id <= getvariable('batch_id') AND start_offset < end_offset
    """,
    # The batches whose records are counted together: a replay decides again about all before it.
    """
    CREATE TEMP TABLE counted_with AS
    SELECT batch_id, greatest(batch_id, max(batch_id) FILTER (WHERE replay_id IS NOT NULL) OVER ()) AS group_id
    FROM ledger WHERE batch_id <= getvariable('batch_id')
    """,
    # Each coordinate once: how often each layer has it, and the batch that read it; no batch for one that none read.
    f"""
    CREATE TEMP TABLE record AS
    WITH place AS (
        SELECT kafka_topic, kafka_partition, kafka_offset, sum(is_bronze)::INT AS bronze_count,
            sum(is_silver)::INT AS silver_count, sum(is_quarantine)::INT AS quarantine_count
        FROM ({SOURCES}) GROUP BY kafka_topic, kafka_partition, kafka_offset
    )
    SELECT place.*, CASE WHEN place.kafka_offset < taken.end_offset THEN taken.group_id END AS batch_id
    FROM place ASOF LEFT JOIN (FROM taken JOIN counted_with USING (batch_id)) AS taken
        ON place.kafka_topic = taken.kafka_topic AND place.kafka_partition = taken.kafka_partition
        AND place.kafka_offset >= taken.start_offset
    """,
    # Each batch and topic: what the ledger says of it, what the tables hold of it, and where it begins.
    f"""
    CREATE TEMP TABLE batch_total AS
    WITH held AS (
        SELECT batch_id, kafka_topic, sum(bronze_count)::BIGINT AS bronze_count,
            sum(silver_count)::BIGINT AS silver_count, sum(quarantine_count)::BIGINT AS quarantine_count,
            count_if(silver_count + quarantine_count = 0)::BIGINT AS neither_count
        FROM record WHERE batch_id IS NOT NULL GROUP BY batch_id, kafka_topic
    ),
    said AS (
        SELECT group_id AS batch_id, kafka_topic, sum(read_count)::BIGINT AS read_count,
            sum(accepted_count)::BIGINT AS accepted_count, sum(duplicate_count)::BIGINT AS duplicate_count,
            sum(quarantined_count)::BIGINT AS quarantined_count
        FROM batch_count JOIN counted_with USING (batch_id) GROUP BY group_id, kafka_topic
    ),
    begun AS (
        SELECT group_id AS batch_id, kafka_topic,
            min({coordinates("kafka_topic", offset="start_offset")}) AS example
        FROM taken JOIN counted_with USING (batch_id) GROUP BY group_id, kafka_topic
    )
    SELECT batch_id, kafka_topic, example, coalesce(read_count, 0) AS read_count,
        coalesce(accepted_count, 0) AS accepted_count, coalesce(duplicate_count, 0) AS duplicate_count,
        coalesce(quarantined_count, 0) AS quarantined_count, coalesce(bronze_count, 0) AS bronze_count,
        coalesce(silver_count, 0) AS silver_count, coalesce(quarantine_count, 0) AS quarantine_count,
        coalesce(neither_count, 0) AS neither_count
    FROM said FULL JOIN held USING (batch_id, kafka_topic) LEFT JOIN begun USING (batch_id, kafka_topic)
    """,
)

CHECKS = (
    Check(
        name="bronze_has_each_record_once",
        meaning="No coordinate is in a bronze table twice.",
        sql=f"SELECT *, {EXAMPLE}, {BRONZE} AS table_name FROM record WHERE bronze_count > 1 {IN_ORDER}",
        violation="{table_name} has {example} of batch {batch_id} {bronze_count} times, expected once",
    ),
    Check(
        name="bronze_is_within_the_ledger",
        meaning="No row of a bronze table is outside the ranges of the ledger.",
        sql=f"""
            SELECT {EXAMPLE}, {BRONZE} AS table_name, getvariable('batch_id') AS batch_id
            FROM record WHERE bronze_count > 0 AND batch_id IS NULL {IN_ORDER}
        """,
        violation="{table_name} has {example}, which is in no range of the ledger up to batch {batch_id}",
    ),
    Check(
        name="bronze_has_what_was_read",
        meaning="Per batch and topic, bronze has as many rows as records were read.",
        sql=f"SELECT *, {BRONZE} AS table_name, read_count AS expected, bronze_count AS found {OF_A_BATCH}",
        violation="batch {batch_id} (from {example} on) read {expected} records of {kafka_topic}, but {table_name} has "
        "{found} of them",
    ),
    Check(
        name="silver_has_each_record_once",
        meaning="No coordinate is in silver.ship_events or silver.ship_routes twice.",
        sql=f"SELECT *, {EXAMPLE}, {SILVER} AS table_name FROM record WHERE silver_count > 1 {IN_ORDER}",
        violation="{table_name} has {example} of batch {batch_id} {silver_count} times, expected once",
    ),
    Check(
        name="silver_has_each_scan_once",
        meaning=f"No two rows of silver.ship_events agree in {IDENTITY} (a null equals a null).",
        sql=f"""
            SELECT {IDENTITY}, count(*) AS found, any_value(kafka_topic) AS kafka_topic,
                {coordinates("any_value(kafka_topic)", "arg_min(kafka_partition, kafka_offset)", "min(kafka_offset)")}
                    AS first,
                {coordinates("any_value(kafka_topic)", "arg_max(kafka_partition, kafka_offset)", "max(kafka_offset)")}
                    AS last
            FROM silver.ship_events GROUP BY {IDENTITY} HAVING found > 1 ORDER BY min(kafka_offset)
        """,
        violation="silver.ship_events has a scan of package {tracking_number} at {occurred_at} {found} times, expected "
        "once: {first} and {last} agree in all that tells one scan from another",
    ),
    Check(
        name="silver_comes_from_bronze",
        meaning="Each row of silver.ship_events and silver.ship_routes has its record in bronze.",
        sql=f"""
            SELECT {EXAMPLE}, {SILVER} AS table_name, {BRONZE} AS bronze FROM record
            WHERE silver_count > 0 AND bronze_count = 0 {IN_ORDER}
        """,
        violation="{table_name} has {example}, but {bronze} has no such record",
    ),
    Check(
        name="silver_has_what_was_accepted",
        meaning="Per batch and topic, silver has as many rows as records were accepted.",
        sql=f"SELECT *, {SILVER} AS table_name, accepted_count AS expected, silver_count AS found {OF_A_BATCH}",
        violation="batch {batch_id} (from {example} on) accepted {expected} records of {kafka_topic}, but {table_name} "
        "has {found} of them",
    ),
    Check(
        name="quarantine_has_each_record_once",
        meaning="No coordinate is in silver.quarantine twice.",
        sql=f"SELECT *, {EXAMPLE} FROM record WHERE quarantine_count > 1 {IN_ORDER}",
        violation="silver.quarantine has {example} of batch {batch_id} {quarantine_count} times, expected once",
    ),
    Check(
        name="quarantine_comes_from_bronze",
        meaning="Each row of silver.quarantine has its record in bronze.",
        sql=f"""
            SELECT {EXAMPLE}, {BRONZE} AS bronze FROM record WHERE quarantine_count > 0 AND bronze_count = 0 {IN_ORDER}
        """,
        violation="silver.quarantine has {example}, but {bronze} has no such record",
    ),
    Check(
        name="quarantine_has_nothing_of_silver",
        meaning="No record is both accepted and in quarantine.",
        sql=f"""
            SELECT *, {EXAMPLE}, {SILVER} AS table_name FROM record
            WHERE quarantine_count > 0 AND silver_count > 0 {IN_ORDER}
        """,
        violation="{example} of batch {batch_id} is both in silver.quarantine and in {table_name}",
    ),
    Check(
        name="quarantine_has_what_was_rejected",
        meaning="Per batch and topic, silver.quarantine has as many rows as records were quarantined.",
        sql=f"SELECT *, quarantined_count AS expected, quarantine_count AS found {OF_A_BATCH}",
        violation="batch {batch_id} (from {example} on) quarantined {expected} records of {kafka_topic}, but "
        "silver.quarantine has {found} of them",
    ),
    Check(
        name="duplicates_are_what_is_left",
        meaning="Per batch and topic, as many records of bronze are neither in silver nor in quarantine as the ledger "
        "counts duplicates.",
        sql=f"SELECT *, duplicate_count AS expected, neither_count AS found {OF_A_BATCH}",
        violation="batch {batch_id} (from {example} on) counts {expected} duplicates of {kafka_topic}, but {found} of "
        "its records are neither in silver nor in quarantine",
    ),
    Check(
        name="duplicates_tell_of_a_scan_before",
        meaning=f"For each record of {SHIP_EVENTS.name} that is neither in silver nor in quarantine, "
        "silver.ship_events has a row of the same package and partition with a lower offset, or one in another "
        "partition, to whose offsets its own are not to be compared.",
        sql=f"""
            WITH duplicate AS (
                SELECT {EXAMPLE}, batch_id, kafka_partition, kafka_offset,
                    TRY_CAST(CAST(key AS VARCHAR) AS BIGINT) AS tracking_number
                FROM bronze.ship_events JOIN record USING (kafka_topic, kafka_partition, kafka_offset)
                WHERE silver_count + quarantine_count = 0
            ),
            original AS (
                SELECT tracking_number, kafka_partition, min(kafka_offset) AS first_offset FROM silver.ship_events
                WHERE tracking_number IN (SELECT tracking_number FROM duplicate) GROUP BY ALL
            )
            SELECT * FROM duplicate LEFT JOIN original USING (tracking_number, kafka_partition)
            WHERE (first_offset IS NULL OR first_offset > kafka_offset) AND NOT EXISTS (
                FROM original AS other WHERE other.tracking_number = duplicate.tracking_number
                    AND other.kafka_partition <> duplicate.kafka_partition
            ) ORDER BY kafka_partition, kafka_offset
        """,
        violation="{example} of batch {batch_id} is neither in silver nor in quarantine, but no scan of its package "
        "{tracking_number} has a lower offset in that partition (the lowest is {first_offset})",
    ),
    Check(
        name="routes_have_no_duplicates",
        meaning=f"Every record of {SHIP_ROUTES.name} is in silver or in quarantine.",
        sql=f"""
            SELECT {EXAMPLE}, batch_id FROM record
            WHERE kafka_topic = '{SHIP_ROUTES.name}' AND silver_count + quarantine_count = 0 {IN_ORDER}
        """,
        violation="{example} of batch {batch_id} is in bronze.ship_routes, but neither in silver.ship_routes nor in "
        "silver.quarantine",
    ),
)

RECORDS = Stage(PREPARE, CHECKS)
