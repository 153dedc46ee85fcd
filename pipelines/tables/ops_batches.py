"""`ops.batches`: the ledger."""

from pipelines.tables.record import Column, Table

OPS_BATCHES = Table(
    name="ops.batches",
    doc="What every micro-batch read and wrote. Tables agree with each other at a batch that is the position of all of "
    "them. Maintenance that changes rows (`pts rebuild`, `pts expire`, `pts backfill`, a promotion, its rollback, a "
    "re-drive) is a batch that reads nothing, and so is a new checkpoint.",
    grain="one row per micro-batch",
    key=("batch_id",),
    statistics=("batch_id", "committed_at"),
    is_append_only=True,
    follows_log=False,
    columns=(
        Column("batch_id", "BIGINT", "Counts up by one, without gaps, over the life of the lake.", is_required=True),
        Column(
            "checkpoint_id", "STRING", "Identity of the streaming checkpoint that planned the batch.", is_required=True
        ),
        Column(
            "checkpoint_batch_id",
            "BIGINT",
            "Number of the batch within that checkpoint; -1 where `pts stream --new-checkpoint` began one.",
            is_required=True,
        ),
        Column("started_at", "TIMESTAMP", "When the batch began.", is_required=True),
        Column("committed_at", "TIMESTAMP", "When its last table was written.", is_required=True),
        Column(
            "offsets",
            "ARRAY<STRUCT<kafka_topic: STRING, kafka_partition: INT, start_offset: BIGINT, end_offset: BIGINT>>",
            "The batch's range of every partition, [start_offset, end_offset).",
            is_required=True,
        ),
        Column(
            "counts",
            "ARRAY<STRUCT<kafka_topic: STRING, read_count: BIGINT, accepted_count: BIGINT, duplicate_count: BIGINT, "
            "quarantined_count: BIGINT>>",
            "Records of the batch by topic: read = accepted + duplicate + quarantined.",
            is_required=True,
        ),
        Column(
            "tables",
            "ARRAY<STRUCT<table_name: STRING, version: BIGINT, position: BIGINT, expired_before: TIMESTAMP>>",
            "Delta version of every table at the end of the batch; the batch_id up to which its rows follow the log "
            "(windows catch up in rounds; -1 before the first); the time up to which `pts expire` has removed "
            "rows, null if it never did.",
            is_required=True,
        ),
        Column(
            "replay_id",
            "STRING",
            "The replay whose tables took the place of the live ones with this row; its counts are then what is to be "
            "added to those before it, and may be below 0. Null for every other batch.",
        ),
    ),
)
