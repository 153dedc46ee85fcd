"""Each kind of client that this program has of Kafka, asking for little."""

import time
from contextlib import closing

from pyspark.sql import SparkSession

from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import first_messages, follow
from pipelines.io.kafka.log import KafkaLog, OffsetRange
from pipelines.io.kafka.mover import Mover
from pipelines.io.kafka.producer import LogProducer
from pipelines.io.spark.failures import explained

PATIENCE_SECONDS = 30.0


def asks(connection: Connection, topic: str, _spark: SparkSession) -> None:
    end_offsets(connection, [topic])


def consumes(connection: Connection, topic: str, _spark: SparkSession) -> None:
    first_messages(connection, {topic: {0: 0}})


def follows(connection: Connection, topic: str, _spark: SparkSession) -> None:
    with closing(follow(connection, topic, {0: 0})) as batches:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not next(batches):
            assert time.monotonic() < deadline


def moves(connection: Connection, topic: str, _spark: SparkSession) -> None:
    with closing(Mover(connection, {topic: topic}, lambda moved: [message for _, message in moved])) as mover:
        mover.begin()
        mover.move()


def produces(connection: Connection, topic: str, _spark: SparkSession) -> None:
    producer = LogProducer(connection)
    producer.append([(topic, b"1", b"a record", int(time.time() * 1000))])
    producer.flush()


def reads_by_spark(connection: Connection, topic: str, spark: SparkSession) -> None:
    with explained():
        KafkaLog(spark, connection).records(topic, [OffsetRange(topic, 0, 0, 1)]).count()


def reads_by_tasks(connection: Connection, topic: str, spark: SparkSession) -> None:
    with explained():
        KafkaLog(spark, connection).records(topic, [OffsetRange(topic, 0, 0, 1)], by_spark=False).count()


CLIENTS = (asks, consumes, follows, produces, moves, reads_by_spark)
