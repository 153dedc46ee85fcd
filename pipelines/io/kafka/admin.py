"""Topics and offsets of a cluster, without a JVM. `BrokerUnavailable` comes within about 5 s when no broker answers."""

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import NewTopic

from pipelines.contracts.topics import Topic
from pipelines.errors import BrokerUnavailable, InvalidInput, TopicMismatch

K = TypeVar("K")
V = TypeVar("V")

TIMEOUT_SECONDS = 5.0
ELECTION_SECONDS = 10.0
"""A partition's leader may be in doubt for this long: after its topic's creation, or while a broker restarts."""

LEADER_IN_DOUBT = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,  # the client has heard of an election before the broker that it asks
    KafkaError.FENCED_LEADER_EPOCH,  # or after it
}
NO_ANSWER = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}


@dataclass(frozen=True)
class TopicState:
    """A topic as it stands on the cluster; `config` has the value in force of every topic setting."""

    partitions: int
    config: dict[str, str]


def answers(bootstrap_servers: str) -> bool:
    """Whether a broker gives out its metadata right now."""
    try:
        return bool(_client(bootstrap_servers).list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def topic_states(bootstrap_servers: str, names: Iterable[str]) -> dict[str, TopicState]:
    """Those of the named topics that exist."""
    with _reaching(bootstrap_servers) as client:
        partitions = {name: len(topic.partitions) for name, topic in _descriptions(client, names).items()}
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in partitions]
        futures = client.describe_configs(resources, request_timeout=TIMEOUT_SECONDS) if resources else {}
        return {
            resource.name: TopicState(
                partitions[resource.name], {name: str(entry.value) for name, entry in config.items()}
            )
            for resource, config in _existing(futures).items()
        }


def create_topics(bootstrap_servers: str, topics: Iterable[Topic], partitions: int, replication_factor: int) -> None:
    """Creates topics with the contract's settings; one that another process creates at the same moment stays as it is.

    Raises `TopicMismatch` with the broker's reason when it refuses.
    """
    new = [NewTopic(topic.name, partitions, replication_factor, config=topic.broker_config) for topic in topics]
    with _reaching(bootstrap_servers) as client:
        created = (
            client.create_topics(new, request_timeout=TIMEOUT_SECONDS, operation_timeout=TIMEOUT_SECONDS) if new else {}
        )
        for name, future in created.items():
            try:
                future.result()
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() in NO_ANSWER:
                    raise
                if reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise TopicMismatch(f"The broker refuses to create topic {name}: {reason.str()}") from error


def begin_offsets(bootstrap_servers: str, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """topic -> partition -> offset of the first record still held. Raises `TopicMismatch` for a missing topic."""
    return _offsets(bootstrap_servers, list(topics), OffsetSpec.earliest())  # type: ignore[no-untyped-call]


def end_offsets(bootstrap_servers: str, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """topic -> partition -> the offset before which all transactions have ended: what is read of the log ends there.

    Raises `TopicMismatch` for a missing topic.
    """
    return _offsets(bootstrap_servers, list(topics), OffsetSpec.latest())  # type: ignore[no-untyped-call]


def records_between(position: dict[str, dict[int, int]], ends: dict[str, dict[int, int]]) -> int:
    """How far a position is behind ends of the log; a partition that is ahead of them makes up for no other one."""
    return sum(
        max(0, offset - position.get(topic, {}).get(partition, 0))
        for topic, partitions in ends.items()
        for partition, offset in partitions.items()
    )


def _offsets(bootstrap_servers: str, topics: list[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    with _reaching(bootstrap_servers) as client:
        found = _descriptions(client, topics)
        if missing := sorted(set(topics) - set(found)):
            raise TopicMismatch(
                f"There is no topic {', '.join(missing)} at {bootstrap_servers}. `pts topics` creates it."
            )
        return _listed(
            client,
            {TopicPartition(name, part.id): spec for name, topic in found.items() for part in topic.partitions},
        )


def _listed(client: AdminClient, wanted: Mapping[TopicPartition, OffsetSpec]) -> dict[str, dict[int, int]]:
    deadline = time.monotonic() + ELECTION_SECONDS
    while True:
        try:
            offsets: dict[str, dict[int, int]] = {part.topic: {} for part in wanted}
            asked = client.list_offsets(
                dict(wanted), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_SECONDS
            )
            for part, future in asked.items():
                offsets[part.topic][part.partition] = future.result().offset
        except KafkaException as error:
            if error.args[0].code() not in LEADER_IN_DOUBT or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return offsets


def _descriptions(client: AdminClient, names: Iterable[str]) -> dict[str, TopicDescription]:
    return _existing(client.describe_topics(TopicCollection(list(names)), request_timeout=TIMEOUT_SECONDS))


def _existing(asked: Mapping[K, "Future[V]"]) -> dict[K, V]:
    """The answers of topics that exist."""
    found = {}
    for key, future in asked.items():
        try:
            found[key] = future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


@contextmanager
def _reaching(bootstrap_servers: str) -> Iterator[AdminClient]:
    try:
        yield _client(bootstrap_servers)
    except KafkaException as error:
        reason: KafkaError = error.args[0]
        if reason.code() in NO_ANSWER:
            raise BrokerUnavailable(
                f"No Kafka broker answers at {bootstrap_servers}. `pts up broker` starts the embedded one; "
                "PTS_KAFKA__BOOTSTRAP_SERVERS names another."
            ) from error
        raise BrokerUnavailable(f"The Kafka broker at {bootstrap_servers} refuses: {reason.str()}.") from error


def _client(bootstrap_servers: str) -> AdminClient:
    """A client that keeps to itself: librdkafka would write a line to standard error for every failed connection."""
    try:
        return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    except KafkaException as error:
        raise InvalidInput(f"{bootstrap_servers!r} is not a list of host:port: {error.args[0].str()}.") from error
