"""`pts stream` as a process whose progress is read from its output."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from lab.benchmarks.contenders import Drain, pts
from lab.benchmarks.driving import RunFailed, end, parsed

EARLY_BATCH, LATE_BATCH = 5, 50
"""Their durations show whether there is a long warm-up."""


def batches(output: Path) -> list[dict[str, Any]]:
    """The lines of the batches that a job has told of so far; one that is being written is left out."""
    lines = map(parsed, output.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line is not None and "batch_id" in line]


@dataclass(frozen=True)
class LiveJob:
    """A running job.

    Attributes:
        process: Its process.
        started_at: When that was started, in seconds since the epoch.
        output: What it writes: one JSON line per batch.
    """

    process: "subprocess.Popen[str]"
    started_at: float
    output: Path

    def batches(self) -> list[dict[str, Any]]:
        return batches(self.output)

    def await_batches(self, are_enough: Callable[[list[dict[str, Any]]], bool], limit_seconds: float) -> bool:
        """Returns whether the batches were enough before the limit. Raises `RunFailed` when the job ends."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            if are_enough(self.batches()):
                return True
            if self.process.poll() is not None:
                raise RunFailed(f"pts stream ended with {self.process.returncode}. Its output: {self.output}")
            time.sleep(0.1)
        return False


@contextmanager
def live_job(
    place: Drain, output: Path, variables: Mapping[str, str] | None = None, before: tuple[str, ...] = ()
) -> Iterator[LiveJob]:
    """The job, with settings of its own and perhaps something before its command, asked to stop at the end of the
    block.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as out:
        started_at = time.time()
        command = pts(place, "stream", **(variables or {}))
        process = replace(command, argv=(*before, *command.argv)).start(output.with_suffix(".log"), stdout=out)
    try:
        yield LiveJob(process, started_at, output)
    finally:
        end(process)


def first_batch_seconds(batches: list[dict[str, Any]], started_at: float) -> float | None:
    """From the job's start to the commit of its first batch."""
    if not batches:
        return None
    return datetime.fromisoformat(batches[0]["committed_at"]).timestamp() - started_at


def seconds_around(batches: list[dict[str, Any]], number: int) -> float | None:
    """Median duration of five neighbouring batches, this one in the middle; None if there are not so many."""
    near = [line["duration_seconds"] for line in batches if abs(line["batch_id"] - number) <= 2]
    return median(near) if len(near) == 5 else None
