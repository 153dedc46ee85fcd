"""Does the ledger agree with itself? Over all of its rows, also those that not every table has reached."""

from pipelines.checks.verify_checks.check import Check, Stage, coordinates

PREPARE = (
    "CREATE TEMP TABLE ledger AS SELECT batch_id, offsets, counts, tables, replay_id FROM ops.batches",
    "CREATE TEMP TABLE offset_range AS SELECT batch_id, unnest(offsets, recursive := true) FROM ledger",
    "CREATE TEMP TABLE batch_count AS SELECT batch_id, replay_id, unnest(counts, recursive := true) FROM ledger",
    "CREATE TEMP TABLE table_state AS SELECT batch_id, replay_id, unnest(tables, recursive := true) FROM ledger",
)

CHECKS = (
    Check(
        name="ledger_counts_batches_up",
        meaning="Batches count up by one from 0: none is missing, none is there twice.",
        sql="""
            SELECT row_number() OVER (ORDER BY batch_id) - 1 AS expected, batch_id AS found FROM ledger
            QUALIFY expected <> found ORDER BY expected
        """,
        violation="where ops.batches should have batch {expected}, it has batch {found}",
    ),
    Check(
        name="ledger_keeps_its_partitions",
        meaning="Every batch has one range of each partition that the batch before it has, and of no other.",
        sql="""
            WITH partition AS (SELECT DISTINCT kafka_topic, kafka_partition FROM offset_range),
            counted AS (
                SELECT batch_id, kafka_topic, kafka_partition, count(*) AS range_count FROM offset_range GROUP BY ALL
            )
            SELECT batch_id, kafka_topic, kafka_partition, coalesce(range_count, 0) AS found,
                coalesce(lag(least(found, 1)) OVER batches, least(found, 1)) AS expected
            FROM (SELECT batch_id FROM ledger) CROSS JOIN partition
            LEFT JOIN counted USING (batch_id, kafka_topic, kafka_partition)
            WINDOW batches AS (PARTITION BY kafka_topic, kafka_partition ORDER BY batch_id)
            QUALIFY expected <> found ORDER BY batch_id, kafka_topic, kafka_partition
        """,
        violation="batch {batch_id} has {found} ranges of {kafka_topic}/{kafka_partition}, expected {expected}: the "
        "partitions of the batch before it, each once",
    ),
    Check(
        name="ledger_counts_each_topic",
        meaning="Every batch counts the records of each topic of which it has ranges, and of no other, once.",
        sql="""
            WITH topic AS (SELECT DISTINCT batch_id, kafka_topic, 1 AS topic_count FROM offset_range),
            counted AS (SELECT batch_id, kafka_topic, count(*) AS entry_count FROM batch_count GROUP BY ALL)
            SELECT batch_id, kafka_topic, coalesce(topic_count, 0) AS expected, coalesce(entry_count, 0) AS found
            FROM topic FULL JOIN counted USING (batch_id, kafka_topic)
            WHERE expected <> found ORDER BY batch_id, kafka_topic
        """,
        violation="batch {batch_id} has {found} entries of counts for {kafka_topic}, and by its offsets should have "
        "{expected}",
    ),
    Check(
        name="ledger_ranges_meet",
        meaning="Every range starts where that of the batch before ended: no gap, no overlap.",
        sql=f"""
            SELECT batch_id, kafka_topic, kafka_partition,
                start_offset AS found, lag(end_offset) OVER batches AS expected,
                CASE WHEN found > expected THEN 'in no batch' ELSE 'in two batches' END AS outcome,
                {coordinates("kafka_topic", offset="least(expected, found)")} AS example
            FROM offset_range WINDOW batches AS (PARTITION BY kafka_topic, kafka_partition ORDER BY batch_id)
            QUALIFY expected <> found ORDER BY batch_id, kafka_topic, kafka_partition
        """,
        violation="batch {batch_id} starts {kafka_topic}/{kafka_partition} at offset {found}, but the batch before it "
        "ended at {expected}, so that {example} is {outcome}",
    ),
    Check(
        name="ledger_ranges_go_forward",
        meaning="No range ends before it starts.",
        sql="""
            SELECT batch_id, kafka_topic, kafka_partition, start_offset, end_offset FROM offset_range
            WHERE end_offset < start_offset ORDER BY batch_id, kafka_topic, kafka_partition
        """,
        violation="batch {batch_id} ends {kafka_topic}/{kafka_partition} at offset {end_offset}, before its start "
        "{start_offset}",
    ),
    Check(
        name="ledger_counts_are_not_negative",
        meaning="No count of records is below 0, but those by which a replay corrects the ones before it.",
        sql="""
            SELECT * FROM batch_count
            WHERE least(read_count, accepted_count, duplicate_count, quarantined_count) < 0
                AND (replay_id IS NULL OR read_count < 0)
            ORDER BY batch_id, kafka_topic
        """,
        violation="batch {batch_id} counts, of {kafka_topic}, {read_count} read, {accepted_count} accepted, "
        "{duplicate_count} duplicate and {quarantined_count} quarantined records, and one of these is below 0",
    ),
    Check(
        name="ledger_counts_add_up",
        meaning="Per batch and topic, records read = accepted + duplicates + quarantined.",
        sql="""
            SELECT *, accepted_count + duplicate_count + quarantined_count AS expected FROM batch_count
            WHERE read_count <> expected ORDER BY batch_id, kafka_topic
        """,
        violation="batch {batch_id} read {read_count} records of {kafka_topic}, but accounts for {expected}: "
        "{accepted_count} accepted, {duplicate_count} duplicate, {quarantined_count} quarantined",
    ),
    Check(
        name="ledger_reads_within_its_ranges",
        meaning="Per batch and topic, no more records are read than there are offsets. Fewer may be: the aborted "
        "records and the markers of transactions take offsets, too.",
        sql="""
            SELECT batch_id, kafka_topic, read_count AS found, coalesce(size, 0)::BIGINT AS expected
            FROM batch_count LEFT JOIN (
                SELECT batch_id, kafka_topic, sum(end_offset - start_offset) AS size FROM offset_range GROUP BY ALL
            ) USING (batch_id, kafka_topic)
            WHERE found > expected ORDER BY batch_id, kafka_topic
        """,
        violation="batch {batch_id} read {found} records of {kafka_topic}, but its ranges have only {expected} offsets",
    ),
    Check(
        name="ledger_positions_are_reached",
        meaning="No table follows the log further than the batch that says so.",
        sql="SELECT * FROM table_state WHERE position > batch_id ORDER BY batch_id, table_name",
        violation="by batch {batch_id} {table_name} has position {position}, a batch that was still to come",
    ),
    Check(
        name="ledger_positions_never_go_back",
        meaning="A table's position is never lower than after the batch before, but where a promotion brought another.",
        sql="""
            SELECT batch_id, table_name, position AS found, lag(position) OVER batches AS expected FROM table_state
            WINDOW batches AS (PARTITION BY table_name ORDER BY batch_id)
            QUALIFY found < expected AND replay_id IS NULL ORDER BY batch_id, table_name
        """,
        violation="by batch {batch_id} {table_name} has position {found}, but by the batch before it {expected}",
    ),
)

LEDGER = Stage(PREPARE, CHECKS)
