"""The producer against a real broker: what the broker refuses is never lost in silence."""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from pipelines.errors import InvalidInput
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog
from pipelines.io.kafka.producer import LogProducer
from tests.integration.log_reader import read_log
from tests.integration.topic_deletion import delete_topics

pytestmark = pytest.mark.integration

TOPIC = "takes-no-future"
FUTURE_MS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def strict_broker(broker: str) -> Iterator[str]:
    """A broker with a topic that refuses timestamps more than an hour ahead, as Kafka does unless told otherwise."""
    client = AdminClient({"bootstrap.servers": broker})
    topic = NewTopic(TOPIC, 1, 1, config={"message.timestamp.after.max.ms": "3600000"})
    client.create_topics([topic])[TOPIC].result()
    yield broker
    delete_topics(broker, TOPIC)


def test_a_refused_record_fails_the_flush_with_the_remedy(strict_broker: str) -> None:
    producer = LogProducer(Connection(strict_broker))
    producer.append([(TOPIC, b"1", b"good", 0), (TOPIC, b"1", b"bad", FUTURE_MS)])
    with pytest.raises(InvalidInput, match="begin at an earlier time"):
        producer.flush()


def test_a_record_refused_earlier_fails_a_later_append(strict_broker: str) -> None:
    producer = LogProducer(Connection(strict_broker))
    batches = ([(TOPIC, b"1", b"bad", FUTURE_MS)] for _ in range(1_000_000))
    with pytest.raises(InvalidInput, match="begin at an earlier time"):
        deque(map(producer.append, batches), maxlen=0)


def test_messages_reach_a_topic_that_was_made_again_with_fewer_partitions(broker: str) -> None:
    """The job keeps its producer from batch to batch: what that knows of a topic may be out of date."""
    client, log = AdminClient({"bootstrap.servers": broker}), KafkaLog(cast(SparkSession, None), Connection(broker))
    messages = pa.table({"key": [str(number) for number in range(100)], "value": ["{}"] * 100})
    for partitions in (6, 1):
        client.create_topics([NewTopic("made-again", partitions, 1)])["made-again"].result()
        log.send(messages, "made-again")
        arrived = {(record.partition, record.key) for record in read_log(broker, ("made-again",))}
        assert len(arrived) == len(messages)
        delete_topics(broker, "made-again")
