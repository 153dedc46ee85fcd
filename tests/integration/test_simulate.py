"""The simulator against a real broker."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, islice

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, TopicPartition

from pipelines.commands import Simulate
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.settings import Kafka, Settings
from pipelines.simulation.feed import Record, feed
from pipelines.stack import simulate
from tests.brokers import empty_log

pytestmark = pytest.mark.integration

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = [topic.name for topic in INPUT_TOPICS]
Log = dict[tuple[str, int], list[Record]]


@pytest.fixture(scope="module")
def topics(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that has the topics."""
    with empty_log(broker, tmp_path_factory.mktemp("simulate")):
        yield broker


def simulated(servers: str, **parameters: object) -> tuple[simulate.SimulateSummary, Log]:
    """A run, and what it added to the log: the records of each partition in the order of their offsets."""
    command = Simulate.model_validate({"seed": 3, "packages": 150, "rate": 0, "start": START, **parameters})
    before = end_offsets(Connection(servers), NAMES)
    summary = simulate.run(command, Settings(kafka=Kafka(bootstrap_servers=servers)))
    return summary, added(servers, before, summary.records)


def added(servers: str, before: dict[str, dict[int, int]], count: int) -> Log:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(name, part, at) for name, parts in before.items() for part, at in parts.items()])
    log: Log = defaultdict(list)
    for _ in range(count):
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        topic, partition, (kind, timestamp_ms) = message.topic(), message.partition(), message.timestamp()
        assert topic is not None
        assert partition is not None
        assert kind == TIMESTAMP_CREATE_TIME
        log[topic, partition].append(Record(topic, message.key(), message.value(), timestamp_ms))
    assert consumer.poll(0.5) is None
    consumer.close()
    return log


def test_the_log_holds_the_feed_to_the_byte_in_its_order_and_the_same_partitions_again(topics: str) -> None:
    summary, log = simulated(topics)
    partition = {record: part for (_, part), records in log.items() for record in records}
    expected: Log = defaultdict(list)
    for record in feed(3, 150, START):
        expected[record.topic, partition[record]].append(record)
    assert log == expected
    assert summary.records == sum(map(len, log.values()))
    assert simulated(topics)[1] == log


def test_all_records_with_one_key_are_in_one_partition_number_of_both_topics(topics: str) -> None:
    partitions = defaultdict(set)
    for (_, partition), records in simulated(topics)[1].items():
        for record in records:
            partitions[record.key].add(partition)
    assert {len(numbers) for numbers in partitions.values()} == {1}


def test_feed_that_was_cut_off_goes_on_behind_what_the_log_holds(topics: str) -> None:
    held = sum(sum(parts.values()) for parts in end_offsets(Connection(topics), NAMES).values())
    packages = 150 + held  # a feed that certainly has more records than that

    _, log = simulated(topics, packages=packages, resume=True, count=500)

    appended = Counter(chain.from_iterable(log.values()))
    assert appended == Counter(islice(feed(3, packages, START), held, held + 500))
