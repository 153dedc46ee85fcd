"""What a running command tells of its progress, as it goes on, and who is told.

As with a log, whoever does the work does not know who listens: a terminal, or nobody.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class BatchDone:
    """A micro-batch of the live job is in the ledger.

    Attributes:
        batch_id: The batch.
        committed_at: When its row was written, in UTC.
        records, records_per_second, duration_seconds: How many records it read, how fast, and for how long.
        lag_records, lag_seconds: Records between the batch and the log's ends, and how long ago these were where it is.
        accepted, duplicates, quarantined: What became of the records.
    """

    batch_id: int
    committed_at: datetime
    records: int
    records_per_second: int
    lag_records: int
    lag_seconds: float
    accepted: int
    duplicates: int
    quarantined: int
    duration_seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"committed_at": self.committed_at.isoformat(timespec="milliseconds")}


@dataclass(frozen=True)
class ReplayBegun:
    """A replay reads `total` records; earlier calls did `done` of them."""

    total: int
    done: int


@dataclass(frozen=True)
class ReplayedBatch:
    """A batch of a replay is done.

    Attributes:
        batch_id: The batch, in the replay's own ledger.
        records, duration_seconds: How many records it read, and for how long.
        records_done, records_left: Records of the replay up to it, and after it.
        records_per_second: Since this call began.
    """

    batch_id: int
    records: int
    duration_seconds: float
    records_done: int
    records_left: int
    records_per_second: float

    def as_json(self) -> dict[str, Any]:
        return {
            "batch_id": self.batch_id,
            "records": self.records,
            "duration_seconds": self.duration_seconds,
            "records_done": self.records_done,
            "records_left": self.records_left,
            "seconds_left": round(self.records_left / self.records_per_second),
        }


@dataclass(frozen=True)
class ReplayEnded:
    """The replay has come to its end, or was cut off."""


@dataclass(frozen=True)
class PartBegun:
    """A command does this now, maybe as a part of what it began before; `total` is its size, where that is known."""

    doing: str
    total: int | None = None


@dataclass(frozen=True)
class PartAdvanced:
    """How much of the part that was begun last is done."""

    done: int


@dataclass(frozen=True)
class PartEnded:
    """The part that was begun last has ended, or failed."""

    seconds: float


def parse_batch(line: str) -> dict[str, Any] | None:
    """The batch that a line of the stream's log tells of; None for any other line."""
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) and "batch_id" in parsed else None


Step = BatchDone | ReplayBegun | ReplayedBatch | ReplayEnded | PartBegun | PartAdvanced | PartEnded
Listener = Callable[[Step], None]

_listeners: list[Listener] = []


def report(step: Step) -> None:
    """Tells all who listen."""
    for listener in _listeners:
        listener(step)


@contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Within the block the listener is told of each step; it must return at once."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def part(doing: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Tells of a part of a command that may take seconds, as `Comparing gold.stop_activity`.

    Yields what says how much of `total` is done. For the thread of a command alone.
    """
    began = time.monotonic()
    report(PartBegun(doing, total))
    try:
        yield lambda done: report(PartAdvanced(done))
    finally:
        report(PartEnded(time.monotonic() - began))
