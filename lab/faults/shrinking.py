"""A smaller record on which two judges still disagree, found by taking bytes away (delta debugging)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lab.faults.judging import Judged
from tests.oracle.records import LogRecord

Judge = Callable[[Sequence[LogRecord]], Sequence[Judged]]

CUTS = 256
"""Candidates of a round by their values, at most: they are judged in one job."""
ROUNDS = 60


def shrunk(difference: Judged, judge: Judge) -> Judged:
    """The smallest difference that was found; where its value is short, no byte of it can be left out."""
    cut = len(difference.record.value or b"")
    for _ in range(ROUNDS):
        candidates = [replace(record, offset=offset) for offset, record in enumerate(_smaller(difference.record, cut))]
        differing = [judged for judged in judge(candidates) if judged.differs] if candidates else []
        if differing:
            difference = min(differing, key=size)
        elif cut <= 1:
            break
        else:
            cut = max(1, cut // 4)
    return difference


def size(judged: Judged) -> tuple[int, int]:
    """Bytes of the value, then everything else that can be left out."""
    return len(judged.record.value or b""), len(judged.record.headers or ())


def _smaller(record: LogRecord, cut: int) -> Iterator[LogRecord]:
    """The record without headers, and without so many bytes of its value at one place or another."""
    if record.headers:
        yield replace(record, headers=None)
    value = record.value or b""
    step = max(1, cut // 2, -(-len(value) // CUTS))
    for start in range(0, len(value), step):
        yield replace(record, value=value[:start] + value[start + cut :])
