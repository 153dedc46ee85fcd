"""The log as far back as there is any of it: Kafka, and bronze for what Kafka has deleted."""

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.graph import ARCHIVES
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import OffsetRange, Offsets, RecordLog, divided, tasks_for, within


class StitchedLog:
    """Reads each record from where it is: the same bytes under the same coordinates. What is sent, it removes.

    Args:
        kafka: The log.
        begin: Where each partition of it begins now.
        live: The lake with bronze.
    """

    def __init__(self, kafka: RecordLog, begin: Offsets, live: Lake) -> None:
        self._kafka = kafka
        self._begin = begin
        self._live = live

    def records(self, topic: str, ranges: Iterable[OffsetRange], by_spark: bool = True) -> DataFrame:
        """The records of the ranges, as `KafkaLog.records`: those of a partition are read by one task."""
        wanted = [part for part in ranges if part.topic == topic]
        gone, there = divided(wanted, self._begin)
        frames = [self._kafka.records(topic, there, by_spark)] if there or not gone else []
        if gone:
            spans = [(part.start, part.end) for part in gone]
            rows = self._live.scan(ARCHIVES[topic], "kafka_offset", spans).where(within(gone))
            frames.append(rows.drop("ingested_at"))
        if not gone:
            return frames[0]
        return reduce(DataFrame.unionByName, frames).repartition(tasks_for(self._live.spark, wanted), "kafka_partition")

    def send(self, messages: pa.Table, topic: str) -> None:
        """Nobody is told what a replay makes, before it is promoted."""
