"""`ops.redriven_records`: what a re-drive took out of the quarantine."""

from pipelines.tables.record import RECORD_KEY, RECORD_STATISTICS, Column, Table, kafka_coordinates

OPS_REDRIVEN_RECORDS = Table(
    name="ops.redriven_records",
    doc="Records that `pts quarantine redrive` judged again, with another result: what silver.quarantine said of them "
    "before. Their bytes are in bronze.",
    grain="one row per record and re-drive that changed its verdict",
    key=(*RECORD_KEY, "redriven_at"),
    statistics=RECORD_STATISTICS,
    is_append_only=True,
    follows_log=False,
    columns=(
        Column("redriven_at", "TIMESTAMP", "When the re-drive began.", is_required=True),
        Column("reason", "STRING", "Why the record had been in quarantine.", is_required=True),
        Column("detail", "STRING", "The same for a person."),
        Column("new_reason", "STRING", "Why it still is, by the rules of then; null for one that is accepted."),
        *kafka_coordinates(),
    ),
)
