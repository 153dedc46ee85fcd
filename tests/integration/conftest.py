"""One real broker for all tests of a worker, started by the product's own code; and stacks of one's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines import commands
from pipelines.io.kafka.admin import topic_states
from pipelines.live import topics
from pipelines.settings import Broker, Kafka, Settings
from pipelines.stack import stack
from tests.integration.topic_deletion import delete_topics
from tests.ports import unused_ports


def embedded(home: Path) -> Settings:
    """Settings of an embedded stack of its own, on free ports."""
    port, controller_port = unused_ports()
    return Settings(home=home, broker=Broker(port=port, controller_port=controller_port, heap_mb=256))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of one broker for the whole session. Between two modules it has no topics."""
    settings = embedded(tmp_path_factory.mktemp("broker"))
    stack.start(["broker"], settings, lambda _: None)
    yield settings.bootstrap_servers
    stack.stop(settings, lambda _: None)


@contextmanager
def empty_log(broker: str, home: Path, **kafka: Any) -> Iterator[Settings]:
    """Settings of a lake in a home of its own, on a log whose topics are new; they are deleted at the end."""
    settings = Settings(home=home, kafka=Kafka(bootstrap_servers=broker, **kafka))
    topics.run(commands.Topics(), settings)
    try:
        yield settings
    finally:
        delete_topics(broker, *topic_states(broker, topics.NAMES))


@pytest.fixture
def new_log(broker: str, tmp_path: Path) -> Iterator[Settings]:
    """A log of the test's own."""
    with empty_log(broker, tmp_path) as settings:
        yield settings


@pytest.fixture
def stack_settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a stack that is stopped at the end of the test, whatever the test left."""
    settings = embedded(tmp_path / "home")
    yield settings
    stack.stop(settings, lambda _: None)
