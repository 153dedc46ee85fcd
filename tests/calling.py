"""A command of `pts` as a call: what a process would leave, in milliseconds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Ended:
    """What a command left: as of a process, and as fast as a call."""

    returncode: int
    stdout: str
    stderr: str


class Pts(Protocol):
    def __call__(self, *arguments: str, home: Path, **environment: str) -> Ended: ...


class Call(Protocol):
    def __call__(self, arguments: list[str], environment: dict[str, str]) -> Ended: ...
