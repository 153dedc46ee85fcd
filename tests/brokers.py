"""Real brokers, started by the product's own code, and logs on them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.graph import FLOWS, Flow
from pipelines.io.kafka import mover, producer
from pipelines.io.kafka.admin import topic_states
from pipelines.io.kafka.connection import Connection, Principal
from pipelines.live import topics
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import live_runner
from pipelines.settings import Api, Board, Broker, Kafka, Profile, Seal, Settings
from tests.integration.topic_deletion import delete_topics
from tests.ports import unused_ports

MOST_MS = str((1 << 63) - 1)


def embedded(home: Path, profile: Profile = "plain") -> Settings:
    """Settings of an embedded stack of its own, on free ports."""
    port, controller_port = unused_ports()
    broker = Broker(port=port, controller_port=controller_port, heap_mb=256)
    api_port, board_port = unused_ports()
    return Settings(home=home, profile=profile, broker=broker, api=Api(port=api_port), board=Board(port=board_port))


def drain(spark: SparkSession, settings: Settings, flows: Sequence[Flow] = FLOWS) -> None:
    """All that the log holds now, into the lake."""
    LiveJob(live_runner(spark, settings, flows), settings).run(commands.Stream(drain=True))


def take_any_time(servers: str) -> None:
    """Has the input topics take records of any time, as those of older clusters do."""
    entry = ConfigEntry("message.timestamp.after.max.ms", MOST_MS, incremental_operation=AlterConfigOpType.SET)
    wanted = [
        ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=[entry]) for topic in INPUT_TOPICS
    ]
    client = AdminClient({"bootstrap.servers": servers})
    for altered in client.incremental_alter_configs(wanted).values():
        altered.result()


def set_password(settings: Settings, principal: Principal, password: str) -> None:
    """Has the embedded broker of the secure profile let a principal in by another password."""
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    client = AdminClient({**Connection.of(settings, "admin").client_options()})
    for altered in client.alter_user_scram_credentials(
        [UserScramCredentialUpsertion(principal, how, password.encode())]
    ).values():
        altered.result()


def take_rights(settings: Settings, principal: Principal, topic: str) -> None:
    """All that the principal has on the topic."""
    any_of_it = (AclOperation.ANY, AclPermissionType.ANY)
    host: Any = None  # any, which its types do not know
    which = AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{principal}", host, *any_of_it
    )
    client = AdminClient({**Connection.of(settings, "admin").client_options()})
    for deleted in client.delete_acls([which]).values():
        assert deleted.result()


@contextmanager
def empty_log(broker: str, home: Path, **kafka: Any) -> Iterator[Settings]:
    """Settings of a lake in a home of its own, on a log whose topics are new; they are deleted at the end."""
    settings = Settings(home=home, kafka=Kafka(bootstrap_servers=broker, **kafka))
    assert topics.run(commands.Topics(), settings) == topics.NAMES, f"{broker} still has another test's log"
    try:
        yield settings
    finally:
        _forget_topics(broker, topics.NAMES)


@contextmanager
def sealing_log(broker: str, home: Path) -> Iterator[Settings]:
    """The same where personal fields are sealed, in two partitions."""
    settings = Settings(
        home=home, kafka=Kafka(bootstrap_servers=broker, partitions=2), seal=Seal(enabled=True, intake_hours=96)
    )
    names = [topic.name for topic in topics.wanted_topics(settings)]
    assert topics.run(commands.Topics(), settings) == tuple(names), f"{broker} still has another test's log"
    try:
        yield settings
    finally:
        _forget_topics(broker, names)
        client = AdminClient({"bootstrap.servers": broker})  # one that is garbage never answers
        done = client.delete_consumer_groups([mover.NAME], request_timeout=5)[mover.NAME]
        with suppress(KafkaException):  # of a test that moved nothing
            done.result(10)


def _forget_topics(broker: str, names: Sequence[str]) -> None:
    """The next log's topics may have more partitions than the process's producer would know of for some minutes."""
    delete_topics(broker, *topic_states(Connection(broker), names))
    producer.shared_producer.cache_clear()
