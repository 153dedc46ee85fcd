"""Expectations of the ledger: batches and ranges without gaps, every record accounted for, and news."""

from expectations.truth import Truth

REMEDY = "nothing that rests on the ledger can be trusted: `pts verify` names the batch; see the runbook there."

TRUTHS = (
    Truth(
        name="batches_count_up",
        meaning="Batches count up by one from 0: number of those that are missing.",
        sql="SELECT max(batch_id) + 1 - count(DISTINCT batch_id) FROM ops.batches",
        catches="rows of the ledger that were lost, or a ledger that was restored in part.",
        remedy=REMEDY,
    ),
    Truth(
        name="ranges_meet",
        meaning="Each range of a partition begins where that of the batch before ended: number of those that do not.",
        sql="""
            SELECT count(*) FROM (
                SELECT part.start_offset AS found, lag(part.end_offset) OVER (
                    PARTITION BY part.kafka_topic, part.kafka_partition ORDER BY batch_id
                ) AS expected
                FROM (SELECT batch_id, explode(offsets) AS part FROM ops.batches)
            ) WHERE found <> expected
        """,
        catches="records of the log that are in no batch, or in two.",
        remedy=REMEDY,
    ),
    Truth(
        name="records_are_accounted_for",
        meaning="Over all batches, records read = accepted + duplicates + quarantined: number of those that are not.",
        sql="""
            SELECT coalesce(sum(abs(unaccounted)), 0) FROM (
                SELECT sum(topic.read_count - topic.accepted_count - topic.duplicate_count - topic.quarantined_count)
                    AS unaccounted
                FROM (SELECT explode(counts) AS topic FROM ops.batches) GROUP BY topic.kafka_topic
            )
        """,
        catches="a correction of history (promotion, re-drive) that counted wrongly, or a ledger that was changed.",
        remedy=REMEDY,
    ),
    Truth(
        name="records_came_lately",
        meaning="Seconds since the commit of the last batch that read a record.",
        sql="""
            SELECT unix_seconds({now}) - unix_seconds(max(committed_at)) FROM ops.batches
            WHERE exists(counts, topic -> topic.read_count > 0)
        """,
        catches="a job that hangs or was not started again, brokers that are away, or producers that are silent.",
        remedy="`pts status`, and the last lines of the job's log: if its lag is 0, the producers are silent.",
        severity="warning",
        within=lambda quality: (0, quality.freshness_seconds),
        is_of_now=True,
    ),
)
