"""The topics of the contract: created where they are missing, required where they exist."""

import time
from collections.abc import Sequence

from pipelines import commands
from pipelines.contracts.control import PTS_CONTROL
from pipelines.contracts.topics import INPUT_TOPICS, PACKAGE_REPORTS, TOPICS, Topic, intake_of
from pipelines.errors import BrokerUnavailable, TopicMismatch
from pipelines.io.kafka.admin import (
    Right,
    TopicState,
    create_topics,
    end_offsets,
    give_logins,
    give_rights,
    take_rights,
    topic_states,
)
from pipelines.io.kafka.connection import GROUP, Connection, login_passwords
from pipelines.io.kafka.mover import NAME as SEALER
from pipelines.settings import Settings

VISIBLE_WITHIN_SECONDS = 10.0
NAMES = tuple(topic.name for topic in TOPICS)

RIGHTS = (
    *(Right("job", topic.name, ("READ", "DESCRIBE_CONFIGS")) for topic in INPUT_TOPICS),
    Right("job", PACKAGE_REPORTS.name, ("WRITE", "DESCRIBE_CONFIGS")),
    Right("job", PTS_CONTROL.name, ("CREATE", "READ", "DESCRIBE_CONFIGS")),
    Right("job", GROUP, ("READ",), kind="GROUP"),
    Right("api", PACKAGE_REPORTS.name, ("READ",)),
    Right("api", GROUP, ("READ",), kind="GROUP"),
)
"""What principals of the embedded broker may do in its secure profile, beside admin, who may do all. To read or write
includes to describe. Who may write the input topics, `rights_of_producers` says."""


WRITERS_IN_CLEAR = tuple(Right("simulator", topic.name, ("WRITE", "DESCRIBE_CONFIGS")) for topic in INPUT_TOPICS)
"""Where nothing is sealed. Where it is, a broker of before has given these, too, and they are taken back."""


def wanted_topics(settings: Settings) -> tuple[Topic, ...]:
    """The topics of the contract, and where personal fields are sealed those that producers write instead."""
    return (*TOPICS, *intake_topics(settings))


def intake_topics(settings: Settings) -> tuple[Topic, ...]:
    """Where producers write, if personal fields are sealed; none otherwise."""
    seal = settings.seal
    return tuple(intake_of(topic, seal.intake_hours) for topic in INPUT_TOPICS) if seal.enabled else ()


def rights_of_producers(settings: Settings) -> tuple[Right, ...]:
    """The rights of producers. Where personal fields are sealed, the sealer alone writes to the kept topics."""
    intake = intake_topics(settings)
    if not intake:
        return WRITERS_IN_CLEAR
    return (
        *(Right("simulator", topic.name, ("WRITE", "DESCRIBE_CONFIGS")) for topic in intake),
        *(Right("sealer", topic.name, ("READ",)) for topic in intake),
        *(Right("job", topic.name, ("DESCRIBE",)) for topic in intake),  # how far the sealer is, `pts health` says
        Right("job", SEALER, ("DESCRIBE",), kind="GROUP"),
        *(Right("sealer", topic.name, ("WRITE", "DESCRIBE_CONFIGS")) for topic in INPUT_TOPICS),
        Right("sealer", SEALER, ("READ",), kind="GROUP"),
        Right("sealer", SEALER, ("WRITE", "DESCRIBE"), kind="TRANSACTIONAL_ID"),
    )


def rights(settings: Settings) -> tuple[Right, ...]:
    """All rights: `RIGHTS`, those of producers, and that to the group to which the job's offsets are mirrored."""
    group = settings.kafka.lag_group
    of_the_group = (Right("job", group, ("READ",), kind="GROUP"),) if group else ()
    return (*RIGHTS, *rights_of_producers(settings), *of_the_group)


def run(_command: commands.Topics, settings: Settings) -> tuple[str, ...]:
    """Creates the missing topics and returns their names. Idempotent, and safe beside another run.

    A topic that exists has as many partitions as it has: with what count a lake began, its ledger knows.

    The embedded broker of the secure profile gives its principals their rights, and a login to those that its first
    start did not know yet.

    Raises `TopicMismatch` when an existing topic differs from the contract; then nothing is created.
    """
    connection = Connection.of(settings, "admin")
    wanted = wanted_topics(settings)
    names = [topic.name for topic in wanted]
    states = topic_states(connection, names)
    _raise_if_different(states, wanted)
    missing = [topic for topic in wanted if topic.name not in states]
    kafka = settings.kafka
    create_topics(connection, missing, kafka.partitions, kafka.replication_factor)
    if missing:
        _raise_if_different(_visible(connection, names), wanted)
    if settings.profile == "secure":
        give_logins(connection, login_passwords(settings.home))
        give_rights(connection, rights(settings))
        if settings.seal.enabled:
            take_rights(connection, WRITERS_IN_CLEAR)
    return tuple(topic.name for topic in missing)


def check_topics(settings: Settings) -> None:
    """Raises `TopicMismatch` when a topic that the job reads or writes is missing or has lost its settings."""
    states = topic_states(Connection.of(settings), NAMES)
    if missing := [name for name in NAMES if name not in states]:
        raise TopicMismatch(
            f"There is no topic {', '.join(missing)} at {settings.bootstrap_servers}. `pts topics` creates it."
        )
    _raise_if_different(states)


def differences(topic: Topic, state: TopicState) -> list[str]:
    """How a topic differs from its contract, one sentence each, with what to do."""
    return [
        f"Topic {topic.name} has {name}={state.config.get(name)} where the contract says {wanted}: set {name}={wanted}."
        for name, wanted in topic.broker_config.items()
        if state.config.get(name) != wanted
    ]


def _raise_if_different(states: dict[str, TopicState], wanted: Sequence[Topic] = TOPICS) -> None:
    found = [fault for topic in wanted if topic.name in states for fault in differences(topic, states[topic.name])]
    if found:
        raise TopicMismatch(" ".join([*found, "Nothing was changed."]))


def _visible(connection: Connection, names: Sequence[str]) -> dict[str, TopicState]:
    """The new topics, once the brokers tell of them and every partition has a leader."""
    deadline = time.monotonic() + VISIBLE_WITHIN_SECONDS
    while time.monotonic() < deadline:
        states = topic_states(connection, names)
        if len(states) == len(names):
            end_offsets(connection, names)
            return states
        time.sleep(0.1)
    raise BrokerUnavailable(
        f"The brokers at {connection} accepted the topics but do not show them. Look at their logs."
    )
