"""A real broker, started by the product's own code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.settings import Broker, Settings
from pipelines.stack import stack
from tests.ports import unused_ports


def embedded(home: Path) -> Settings:
    """Settings of an embedded stack of its own, on free ports."""
    port, controller_port = unused_ports()
    return Settings(home=home, broker=Broker(port=port, controller_port=controller_port, heap_mb=256))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of one broker for the whole session. It has no topics yet."""
    settings = embedded(tmp_path_factory.mktemp("broker"))
    stack.start(["broker"], settings, lambda _: None)
    yield settings.bootstrap_servers
    stack.stop(settings, lambda _: None)


@pytest.fixture
def stack_settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a stack that is stopped at the end of the test, whatever the test left."""
    settings = embedded(tmp_path / "home")
    yield settings
    stack.stop(settings, lambda _: None)
