"""Topics and offsets of a cluster, without a JVM.

`BrokerUnavailable` comes within about 5 s when no broker answers, `AccessRefused` at once when one does not let us in.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import NewTopic

from pipelines.contracts.topics import Topic
from pipelines.errors import BrokerUnavailable, InvalidInput, TopicMismatch
from pipelines.io.kafka.connection import Connection, Principal
from pipelines.io.kafka.refusals import MISSING_RIGHT, Refusals, check_protocol, check_right

K = TypeVar("K")
V = TypeVar("V")

TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.05
SCRAM_ITERATIONS = 4096
"""The number that Kafka's own tool takes."""
ELECTION_SECONDS = 10.0
"""A leader may be in doubt for this long: after a topic's creation, or while a broker restarts."""

EMBEDDED_BROKER = "1"
"""Its `node.id` in infra/kafka/server.properties."""

IN_DOUBT = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,  # the client has heard of an election before the broker that it asks
    KafkaError.FENCED_LEADER_EPOCH,  # or after it
    KafkaError.NOT_COORDINATOR,  # of a group: the same, and when a broker makes the topic of all groups' offsets
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}
NO_ANSWER = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}


@dataclass(frozen=True)
class TopicState:
    """A topic as it stands on the cluster; `config` has the value in force of every topic setting."""

    partitions: int
    config: dict[str, str]


@dataclass(frozen=True)
class TopicExtent:
    """Which topic it is, and what it holds: of each partition the first offset, and that after the last committed one.

    A topic that is created again under the same name has another id.
    """

    topic_id: str
    begin: dict[int, int]
    end: dict[int, int]


class Admin(AdminClient):
    """A client that keeps to itself (librdkafka would write a line to standard error for every failed connection) and
    knows at once when it is refused.
    """

    def __init__(self, connection: Connection) -> None:
        self._refusals = Refusals(connection)
        options: dict[str, Any] = {**connection.client_options(), "error_cb": self._refusals.note, "log_level": 0}
        super().__init__(options)

    def result(self, future: "Future[V]") -> V:
        """The answer to a question. Raises `AccessRefused` as soon as it is known that there will be none."""
        while True:
            self.check()
            with suppress(TimeoutError):
                return future.result(POLL_SECONDS)

    def check(self) -> None:
        """Raises `AccessRefused` once the client was refused."""
        self.poll(0)
        self._refusals.check()


def answers(connection: Connection) -> bool:
    """Whether a broker gives out its metadata right now. Raises `AccessRefused` where it does not let us in."""
    client = open_client(connection)
    try:
        return bool(client.list_topics(timeout=1).brokers)
    except KafkaException:
        client.check()
        return False


def topic_states(connection: Connection, names: Iterable[str]) -> dict[str, TopicState]:
    """The states of those named topics that exist."""
    with reaching(connection) as client:
        partitions = {name: len(topic.partitions) for name, topic in _descriptions(client, names).items()}
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in partitions]
        futures = client.describe_configs(resources, request_timeout=TIMEOUT_SECONDS) if resources else {}
        return {
            resource.name: TopicState(
                partitions[resource.name], {name: str(entry.value) for name, entry in config.items()}
            )
            for resource, config in _existing(client, futures).items()
        }


def create_topics(connection: Connection, topics: Iterable[Topic], partitions: int, replication_factor: int) -> None:
    """Creates topics with the contract's settings; one that another process creates at the same moment stays as it is.

    Raises `TopicMismatch` with the broker's reason when it refuses.
    """
    new = [NewTopic(topic.name, partitions, replication_factor, config=topic.broker_config) for topic in topics]
    with reaching(connection) as client:
        created = (
            client.create_topics(new, request_timeout=TIMEOUT_SECONDS, operation_timeout=TIMEOUT_SECONDS) if new else {}
        )
        for name, future in created.items():
            try:
                client.result(future)
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() in NO_ANSWER | MISSING_RIGHT:
                    raise
                if reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise TopicMismatch(f"The broker refuses to create topic {name}: {reason.str()}") from error


@dataclass(frozen=True)
class Right:
    """What a principal may do with one topic, consumer group or transactional id (in Kafka's words an ACL, for each
    operation).
    """

    principal: str
    name: str
    operations: tuple[str, ...]
    kind: Literal["TOPIC", "GROUP", "TRANSACTIONAL_ID"] = "TOPIC"

    def acls(self) -> list[AclBinding]:
        kind, pattern, who = ResourceType[self.kind], ResourcePatternType.LITERAL, f"User:{self.principal}"
        return [
            AclBinding(kind, self.name, pattern, who, "*", AclOperation[operation], AclPermissionType.ALLOW)
            for operation in self.operations
        ]


def give_rights(connection: Connection, rights: Iterable[Right]) -> None:
    """Adds rights; those that were given before stay."""
    with reaching(connection) as client:
        asked = client.create_acls([acl for right in rights for acl in right.acls()], request_timeout=TIMEOUT_SECONDS)
        for future in asked.values():
            client.result(future)


def take_rights(connection: Connection, rights: Iterable[Right]) -> None:
    """Takes rights away, where they were given."""
    with reaching(connection) as client:
        exactly = [
            AclBindingFilter(
                acl.restype,
                acl.name,
                acl.resource_pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for right in rights
            for acl in right.acls()
        ]
        for future in client.delete_acls(exactly, request_timeout=TIMEOUT_SECONDS).values():
            client.result(future)


def give_logins(connection: Connection, passwords: Mapping[Principal, str]) -> None:
    """Gives principals a login (SCRAM-SHA-512); who has one keeps it."""
    with reaching(connection) as client:
        asked = client.describe_user_scram_credentials(request_timeout=TIMEOUT_SECONDS)
        assert isinstance(asked, Future), "asked for all users, it has one answer"
        known = client.result(asked)
        new: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(
                name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, SCRAM_ITERATIONS), password.encode()
            )
            for name, password in passwords.items()
            if name not in known
        ]
        if new:
            for given in client.alter_user_scram_credentials(new, request_timeout=TIMEOUT_SECONDS).values():
                client.result(given)


def renew_certificate(connection: Connection, listener: str, keystore: Path) -> None:
    """Has the embedded broker read a listener's certificate again, without a restart."""
    name = f"listener.name.{listener}.ssl.keystore.location"
    with reaching(connection) as client:
        # What is kept in the cluster's metadata would outlive a move of $PTS_HOME: it is deleted again.
        for operation in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
            entry = ConfigEntry(name, str(keystore), incremental_operation=operation)
            resource = ConfigResource(ConfigResource.Type.BROKER, EMBEDDED_BROKER, incremental_configs=[entry])
            for future in client.incremental_alter_configs([resource], request_timeout=TIMEOUT_SECONDS).values():
                client.result(future)


def begin_offsets(connection: Connection, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """topic -> partition -> offset of the first record still held. Raises `TopicMismatch` for a missing topic."""
    return _offsets(connection, list(topics), OffsetSpec.earliest())  # type: ignore[no-untyped-call]


def end_offsets(connection: Connection, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """topic -> partition -> the offset before which all transactions have ended: what is read of the log ends there.

    Raises `TopicMismatch` for a missing topic.
    """
    return _offsets(connection, list(topics), OffsetSpec.latest())  # type: ignore[no-untyped-call]


def extent(connection: Connection, topic: str) -> TopicExtent:
    """The topic as it is now. Raises `TopicMismatch` when it is missing."""
    with reaching(connection) as client:
        found = _descriptions(client, [topic])
        _check_there(connection, found, [topic])
        parts = [TopicPartition(topic, part.id) for part in found[topic].partitions]
        begin, end = (
            _listed(client, dict.fromkeys(parts, spec))[topic]
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        )
        return TopicExtent(str(found[topic].topic_id), begin, end)


def records_between(position: dict[str, dict[int, int]], ends: dict[str, dict[int, int]]) -> int:
    """How far a position is behind ends of the log; a partition that is ahead of them makes up for no other one."""
    return sum(
        max(0, offset - position.get(topic, {}).get(partition, 0))
        for topic, partitions in ends.items()
        for partition, offset in partitions.items()
    )


def _offsets(connection: Connection, topics: list[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    with reaching(connection) as client:
        return _listed(client, dict.fromkeys(partitions_of(client, connection, topics), spec))


def partitions_of(client: Admin, connection: Connection, topics: list[str]) -> list[TopicPartition]:
    """The partitions of topics. Raises `TopicMismatch` for a missing one."""
    found = _descriptions(client, topics)
    _check_there(connection, found, topics)
    return [TopicPartition(name, part.id) for name, topic in found.items() for part in topic.partitions]


def _check_there(connection: Connection, found: Mapping[str, object], topics: Iterable[str]) -> None:
    if missing := sorted(set(topics) - set(found)):
        raise TopicMismatch(f"There is no topic {', '.join(missing)} at {connection}. `pts topics` creates it.")


def _listed(client: Admin, wanted: Mapping[TopicPartition, OffsetSpec]) -> dict[str, dict[int, int]]:
    def listed() -> dict[str, dict[int, int]]:
        offsets: dict[str, dict[int, int]] = {part.topic: {} for part in wanted}
        asked = client.list_offsets(
            dict(wanted), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_SECONDS
        )
        for part, future in asked.items():
            offsets[part.topic][part.partition] = client.result(future).offset
        return offsets

    return once_decided(listed)


def once_decided(ask: Callable[[], V]) -> V:
    """The answer, once the brokers know who of them gives it: a partition's leader, a group's coordinator.

    Raises KafkaException when they do not within `ELECTION_SECONDS`, and at once of any other error.
    """
    deadline = time.monotonic() + ELECTION_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in IN_DOUBT or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _descriptions(client: Admin, names: Iterable[str]) -> dict[str, TopicDescription]:
    return _existing(client, client.describe_topics(TopicCollection(list(names)), request_timeout=TIMEOUT_SECONDS))


def _existing(client: Admin, asked: Mapping[K, "Future[V]"]) -> dict[K, V]:
    """The answers of topics that exist."""
    found = {}
    for key, future in asked.items():
        try:
            found[key] = client.result(future)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


@contextmanager
def reaching(connection: Connection) -> Iterator[Admin]:
    """A client; what brokers refuse, or nobody answers, within the block is raised as what an operator meets."""
    try:
        yield open_client(connection)
    except KafkaException as error:
        reason: KafkaError = error.args[0]
        check_right(connection, reason)
        if reason.code() in NO_ANSWER:
            check_protocol(connection)
            raise BrokerUnavailable(
                f"No Kafka broker answers at {connection}. `pts up broker` starts the embedded one; "
                "PTS_KAFKA__BOOTSTRAP_SERVERS names another."
            ) from error
        raise BrokerUnavailable(f"The Kafka broker at {connection} refuses: {reason.str()}.") from error


def open_client(connection: Connection) -> Admin:
    """A client of these brokers. Raises `InvalidInput` for settings that it does not take."""
    try:
        return Admin(connection)
    except KafkaException as error:
        raise InvalidInput(
            f"{connection.bootstrap_servers!r} is no list of host:port, or another setting of Kafka does not fit: "
            f"{error.args[0].str()}."
        ) from error
