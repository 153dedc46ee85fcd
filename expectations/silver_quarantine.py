"""Expectations of what the rules rejected."""

from expectations.accounting import rows_are_those_counted
from expectations.truth import Truth
from pipelines.tables import SILVER_QUARANTINE

TRUTHS = (
    rows_are_those_counted(SILVER_QUARANTINE, "quarantined_count", "true"),
    Truth(
        name="quarantined_share",
        meaning="Share of the records of the last hour of batches that was quarantined.",
        # What a replay corrects (replay_id) was read long ago.
        sql="""
            WITH recent AS (
                SELECT read_count, quarantined_count, committed_at,
                    max(committed_at) FILTER (read_count > 0) OVER () AS newest
                FROM batch_count JOIN ops.batches USING (batch_id) WHERE batch_count.replay_id IS NULL
            )
            SELECT sum(quarantined_count) / nullif(sum(read_count), 0) FROM recent
            WHERE committed_at > newest - INTERVAL 1 HOUR
        """,
        catches="a producer's new release that writes something else, or a wire format that is set wrongly.",
        remedy="`pts quarantine list`, then the runbook, 'The quarantine': tell the producer.",
        severity="warning",
        within=lambda quality: (0, quality.quarantined_share),
    ),
)
