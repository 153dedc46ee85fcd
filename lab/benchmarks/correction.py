"""What does a correction of history cost while the job is live, and how long does the job wait for it?

A log of so many scans, a live job that has read it, a steady feed, somebody who reads all the time; and then every
command that corrects history, one after the other.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, PIPE
from typing import Any

from lab.benchmarks import steady_feed
from lab.benchmarks.contenders import Drain, pts
from lab.benchmarks.driving import LIMIT_SECONDS, RunFailed, end, parsed
from lab.benchmarks.live_job import LiveJob, live_job
from lab.benchmarks.seeded_log import append_seeded, broker
from pipelines import commands
from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.state.snapshots import snapshot

RATE = 500
READ_SECONDS = 0.1
SETTLE_SECONDS = 15.0
"""After a command, so that the job has shown when it went on."""

READS = "SELECT count(*) AS reports, sum(number_of_remaining_stops) AS stops FROM gold.remaining_stops"
DAY = commands.Simulate().start.date() + timedelta(days=7)
"""A day of the seeded log on which packages move."""


class Reader(threading.Thread):
    """An analyst who asks again and again.

    Attributes:
        answers: How often there was an answer.
        slowest_seconds: The slowest of them.
        failure: What ended it; None if nothing did.
    """

    def __init__(self, root: str) -> None:
        super().__init__(daemon=True)
        self._root, self._stop_asked = root, threading.Event()
        self.answers, self.slowest_seconds = 0, 0.0
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self._stop_asked.wait(READ_SECONDS):
                began = time.monotonic()
                LakeReader(self._root).query(READS)
                self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
                self.answers += 1
        except Exception as error:
            self.failure = error

    def end(self) -> None:
        self._stop_asked.set()
        self.join()


def correction_of_ours(work: Path, logs: Path, scans: int, packages: int) -> dict[str, Any]:
    """Raises `RunFailed` when a command fails, the verdict is not "identical", or the reader was refused."""
    with broker(work / "broker") as settings:
        append_seeded(settings, scans, packages)
        place, log = Drain(settings.bootstrap_servers, "", str(work / "ours")), logs / "correction.log"
        with live_job(place, logs / "correction.jsonl") as job:
            job.await_batches(lambda found: sum(line["records"] for line in found) >= scans, LIMIT_SECONDS)
            job.await_batches(lambda _: _is_complete(place), LIMIT_SECONDS)
            reader = Reader(str(place.path / "lake"))
            with feed(place.servers, packages):
                reader.start()
                found = _corrections(place, job, log)
            reader.end()
        if reader.failure:
            raise RunFailed(f"A reader failed: {reader.failure!r}")
        _said(place, log, "stream", "--drain")
        _said(place, log, "verify", "--json")
    return {
        "scans": scans,
        "rate": RATE,
        **found,
        "answers": reader.answers,
        "slowest_answer_seconds": reader.slowest_seconds,
    }


def _is_complete(place: Drain) -> bool:
    """Whether there is a batch at which all tables stand, as a replay needs it."""
    try:
        snapshot(str(place.path / "lake"))
    except NotFound:
        return False
    return True


def _corrections(place: Drain, job: LiveJob, log: Path) -> dict[str, Any]:
    before = len(job.batches())
    build_seconds, _ = _said(place, log, "replay", "build", "fix", "--json")
    compare_seconds, compared = _said(place, log, "replay", "compare", "fix", "--json")
    if compared["verdict"] != "identical":
        raise RunFailed(f"Live and replay differ: {compared['verdict']}")
    found: dict[str, Any] = {"build_seconds": build_seconds, "compare_seconds": compare_seconds}
    for name, arguments in {
        "promote": ("replay", "promote", "fix"),
        "rollback": ("replay", "rollback", "fix"),
        "promote_again": ("replay", "promote", "fix"),
        "backfill": ("backfill", "--from", str(DAY), "--to", str(DAY + timedelta(days=1))),
    }.items():
        began = time.time()
        found[f"{name}_seconds"], _ = _said(place, log, *arguments, "--json")
        time.sleep(SETTLE_SECONDS)
        found[f"{name}_pause_seconds"] = longest_pause(job.batches(), began)
    found["batch_seconds"] = median(line["duration_seconds"] for line in job.batches()[before:])
    return found


def longest_pause(batches: list[dict[str, Any]], since: float) -> float:
    """Longest time in which nothing was read: from the end of a batch to the start of the next that has records, among
    those that ended since then."""
    reading = [line for line in batches if line["records"]]
    ends = [datetime.fromisoformat(line["committed_at"]).timestamp() for line in reading]
    pauses: list[float] = [
        after - line["duration_seconds"] - before
        for before, after, line in zip(ends, ends[1:], reading[1:], strict=False)
        if after >= since
    ]
    return max(pauses)


def _said(place: Drain, log: Path, *arguments: str) -> tuple[float, dict[str, Any]]:
    """How long a command took, and the JSON object that it ended with, if it was one."""
    began = time.monotonic()
    process = pts(place, *arguments).start(log, stdout=PIPE)
    try:
        said, _ = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        end(process)
    if process.returncode:
        raise RunFailed(f"pts {' '.join(arguments)} ended with {process.returncode}. Its log: {log}")
    return time.monotonic() - began, parsed(said.splitlines()[-1]) or {}


@contextmanager
def feed(servers: str, packages: int) -> Iterator[None]:
    """The steady feed, until the end of the block."""
    process = steady_feed.command(servers, packages, RATE, LIMIT_SECONDS).start(Path("/dev/null"), stdout=DEVNULL)
    try:
        yield
    finally:
        end(process)
