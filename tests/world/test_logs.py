"""Logs that somebody else made: with partitions of their own, and from which the beginning is gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import verify
from pipelines.contracts.topics import TOPICS
from pipelines.live import topics
from pipelines.replay import build, compare, plan
from pipelines.settings import Kafka, Settings
from tests.brokers import drain
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.topic_deletion import delete_topics
from tests.oracle.makers import route, scan

PARTITIONS = {"ship-events": 5, "ship-routes": 3, "package-reports": 1}
PACKAGES = range(1, 9)


@pytest.fixture(scope="module")
def settings(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Topics whose first record of each partition is gone before anybody has read it."""
    admin = AdminClient({"bootstrap.servers": broker})
    new = [NewTopic(topic.name, PARTITIONS[topic.name], 1, config=topic.broker_config) for topic in TOPICS]
    for created in admin.create_topics(new).values():
        created.result()
    made = Settings(home=tmp_path_factory.mktemp("logs"), kafka=Kafka(bootstrap_servers=broker))
    send(made, stop=1)
    gone = [TopicPartition(name, part, 1) for name in ("ship-events", "ship-routes") for part in range(3)]
    for deleted in admin.delete_records(gone).values():
        deleted.result()
    yield made
    delete_topics(broker, *PARTITIONS)


def send(settings: Settings, stop: int) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers})
    for package in PACKAGES:
        for record in (scan(package, stop=stop, offset=0), route(package, offset=0)):
            place = package % PARTITIONS[record.topic]
            producer.produce(record.topic, record.value, record.key, place, timestamp=record.timestamp_ms)
    assert producer.flush(30) == 0


def test_topics_that_exist_are_taken_as_they_are(settings: Settings) -> None:
    assert settings.kafka.partitions not in PARTITIONS.values()
    assert topics.run(commands.Topics(), settings) == ()


def test_lake_is_the_log_from_where_it_begins(spark: SparkSession, settings: Settings) -> None:
    drain(spark, settings)
    send(settings, stop=2)
    drain(spark, settings)

    log = read_log(settings.bootstrap_servers)
    assert {record.offset for record in log if record.partition == 0} > {1}
    assert 0 not in {record.offset for record in log if record.partition == 0}
    assert_lake_equals_log(settings.lake_root, log)
    events, routes = verify.run(commands.Verify(), settings).topics
    assert (events.read_count, routes.read_count) == (len(log) - routes.read_count, 2 * len(PACKAGES) - 3)
    assert (events.gap_count, routes.gap_count) == (0, 0), "what was never there to be read is no gap"


@pytest.mark.usefixtures("shared_session")
def test_history_is_replayed_from_where_it_begins(settings: Settings) -> None:
    planned = plan.run(commands.ReplayPlan(), settings)
    begins = {(source.topic, source.partition): source.start_offset for source in planned.sources}
    assert begins == {
        (name, part): int(part < 3) for name in ("ship-events", "ship-routes") for part in range(PARTITIONS[name])
    }
    build.run(commands.ReplayBuild(replay_id="again"), settings)
    assert compare.run(commands.ReplayCompare(replay_id="again"), settings).verdict == "identical"
    assert Path(settings.lake_root, "_shadow", "again").exists()
