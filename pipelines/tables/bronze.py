"""What the archive of a topic is: the bronze tables differ in their topic alone."""

from pipelines.contracts.topics import Topic
from pipelines.tables.record import HEADERS_TYPE, RECORD_KEY, RECORD_STATISTICS, Column, Table, kafka_coordinates


def archive_of(topic: Topic) -> Table:
    """The table that keeps every record of the topic, byte for byte."""
    return Table(
        name=f"bronze.{topic.table_name}",
        doc=f"Every record of topic {topic.name} as it stood on the log, good or bad.",
        grain="one row per Kafka record",
        key=RECORD_KEY,
        statistics=RECORD_STATISTICS,
        is_append_only=True,
        columns=(
            Column("key", "BINARY", "Key of the record, byte for byte."),
            Column("value", "BINARY", "Value of the record, byte for byte."),
            Column("headers", HEADERS_TYPE, "Headers of the record in their order; null when it has none."),
            *kafka_coordinates(),
            Column(
                "ingested_at",
                "TIMESTAMP",
                "When the micro-batch that read the record began.",
                is_required=True,
                follows_log=False,
            ),
        ),
    )
