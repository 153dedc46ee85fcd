"""Which command this process runs: what it leaves behind says so."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_command = Path(sys.argv[0]).name


def running_command() -> str:
    """The command, as `pts replay build`; of another program, its name."""
    return _command


def begin_command(command: str) -> None:
    """Notes what the process runs from now on."""
    global _command
    _command = command


@contextmanager
def in_place_of(command: str) -> Iterator[None]:
    """What is done in the block, is done for another command, which has delegated it."""
    before = _command
    begin_command(command)
    try:
        yield
    finally:
        begin_command(before)
