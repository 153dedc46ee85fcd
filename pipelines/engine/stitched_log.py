"""The log as far back as there is any of it: Kafka, and bronze for what Kafka has let go."""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame

from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import OffsetRange, Offsets, RecordLog, divided, within
from pipelines.tables import TABLES

BRONZE = {topic.name: f"bronze.{topic.name.replace('-', '_')}" for topic in INPUT_TOPICS}


class StitchedLog:
    """Reads each record from where it is: the same bytes under the same coordinates. What is sent, it lets go.

    Args:
        kafka: The log.
        begin: Where each partition of it begins now.
        live: The lake with bronze.
    """

    def __init__(self, kafka: RecordLog, begin: Offsets, live: Lake) -> None:
        self._kafka = kafka
        self._begin = begin
        self._live = live

    def records(self, topic: str, ranges: Iterable[OffsetRange]) -> DataFrame:
        """The records of the ranges, in the columns of `KafkaLog.records`."""
        gone, there = divided([part for part in ranges if part.topic == topic], self._begin)
        frames = [self._kafka.records(topic, there)] if there or not gone else []
        if gone:
            bronze = next(table for table in TABLES if table.name == BRONZE[topic])
            spans = [(part.start, part.end) for part in gone]
            rows = self._live.scan(bronze, "kafka_offset", spans).where(within(gone))
            frames.append(rows.drop("ingested_at"))
        return reduce(DataFrame.unionByName, frames)

    def send(self, messages: DataFrame, topic: str, expected: int) -> None:
        """Nobody is told what a replay makes, before it is promoted."""
