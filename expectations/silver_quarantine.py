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
            SELECT try_divide(sum(topic.quarantined_count), sum(topic.read_count)) FROM (
                SELECT explode(counts) AS topic FROM ops.batches
                WHERE replay_id IS NULL
                    AND committed_at > (SELECT max(committed_at) - INTERVAL 1 HOUR FROM ops.batches
                        WHERE replay_id IS NULL AND exists(counts, topic -> topic.read_count > 0))
            )
        """,
        catches="a producer's new release that writes something else, or a wire format that is set wrongly.",
        remedy="`pts quarantine list`, then the runbook, 'The quarantine': tell the producer.",
        severity="warning",
        within=lambda quality: (0, quality.quarantined_share),
    ),
)
