"""Expectations of the ledger: batches and ranges without gaps, every record accounted for, and news."""

from expectations.truth import Truth, claimed

TRUTHS = (
    claimed(
        "ledger_counts_batches_up",
        catches="rows of the ledger that were lost, or a ledger that was restored in part.",
    ),
    claimed("ledger_ranges_meet", catches="records of the log that are in no batch, or in two."),
    claimed(
        "ledger_counts_add_up",
        catches="a correction of history (promotion, re-drive) that counted wrongly, or a ledger that was changed.",
    ),
    Truth(
        name="records_came_lately",
        meaning="Seconds since the commit of the last batch that read a record.",
        sql="""
            SELECT epoch(getvariable('now')) - epoch(max(committed_at)) FROM ops.batches
            WHERE batch_id IN (SELECT batch_id FROM batch_count WHERE read_count > 0)
        """,
        catches="a job that hangs or was not started again, brokers that are away, or producers that are silent.",
        remedy="`pts status`, and the last lines of the job's log: if its lag is 0, the producers are silent.",
        severity="warning",
        within=lambda quality: (0, quality.freshness_seconds),
        is_of_now=True,
    ),
)
