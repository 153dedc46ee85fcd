"""Ports."""

from collections.abc import Iterator

import pytest

from tests.ports import listening, unused_ports


@pytest.fixture
def free_ports() -> tuple[int, int]:
    return unused_ports()


@pytest.fixture
def taken_port() -> Iterator[int]:
    with listening() as port:
        yield port
