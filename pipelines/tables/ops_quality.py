"""`ops.quality`: what `pts check` found."""

from pipelines.tables.record import Column, Table

OPS_QUALITY = Table(
    name="ops.quality",
    doc="What each run of `pts check` found: one number about the lake at a batch, and the bounds within which it is "
    "as it should be. No batch writes it, and the ledger does not know it.",
    grain="one row per run and expectation",
    key=("checked_at", "table_name", "expectation"),
    statistics=("checked_at", "batch_id"),
    constraints={
        "severity_is_known": "severity IN ('critical', 'warning')",
        "outcome_is_known": "outcome IN ('met', 'failed', 'error', 'unknown')",
    },
    is_append_only=True,
    follows_log=False,
    columns=(
        Column("checked_at", "TIMESTAMP", "When the run began.", is_required=True),
        Column("batch_id", "BIGINT", "The batch at which the tables were read.", is_required=True),
        Column("table_name", "STRING", "The table that the expectation is about.", is_required=True),
        Column("expectation", "STRING", "Its name, unique within the table.", is_required=True),
        Column("severity", "STRING", "critical: the run fails when it is not met; warning: it does not.", True),
        Column(
            "outcome",
            "STRING",
            "met; failed; error: it could not be evaluated, which is as bad as failed; unknown: there is nothing yet "
            "that a warning could be judged by.",
            is_required=True,
        ),
        Column("observed", "DOUBLE", "The number; null when it could not be evaluated or is unknown."),
        Column("at_least", "DOUBLE", "The lowest number that is as it should be.", is_required=True),
        Column("at_most", "DOUBLE", "The highest number that is as it should be.", is_required=True),
        Column("page", "STRING", "Path of the run's page, until it is dropped for newer ones.", is_required=True),
    ),
)
