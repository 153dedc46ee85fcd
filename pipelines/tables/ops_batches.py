"""`ops.batches`: the ledger."""

from pipelines.tables.record import Column, Table

OPS_BATCHES = Table(
    name="ops.batches",
    doc="What every micro-batch read and wrote. Its last row is the newest position at which all tables agree.",
    grain="one row per micro-batch",
    key=("batch_id",),
    statistics=("batch_id", "committed_at"),
    is_append_only=True,
    columns=(
        Column("batch_id", "BIGINT", "Counts up by one, without gaps, over the life of the lake.", is_required=True),
        Column(
            "checkpoint_id", "STRING", "Identity of the streaming checkpoint that planned the batch.", is_required=True
        ),
        Column("checkpoint_batch_id", "BIGINT", "Number of the batch within that checkpoint.", is_required=True),
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
            "ARRAY<STRUCT<table_name: STRING, version: BIGINT, position: BIGINT>>",
            "Delta version of every table at the end of the batch, and the batch_id up to which its rows follow the "
            "log.",
            is_required=True,
        ),
    ),
)
