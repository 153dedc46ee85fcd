"""Does the job stay as it is, hour after hour, with all maintenance beside it?

    python -m lab.faults.soak [--minutes 30] [--rate 5000] [--plots docs/images]

A steady feed, the live job, and compaction, backfill, verification and a rebuild in turns, each a process of its own.
Every few seconds: the memory that the job and its Java hold, their open files, the files of each table, the seconds of
a batch and how far the job is behind. At the end all but the last are compared between the second and the last third of
the time, all tables with each other (`pts verify`), and what they have of one package in a hundred with the oracle.
Ends with 1 when something has grown, or is not what it must be.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from statistics import median
from threading import Event
from typing import NamedTuple

from lab.benchmarks import steady_feed
from lab.benchmarks.driving import end
from lab.benchmarks.live_job import batches
from lab.benchmarks.plot import line_chart
from lab.benchmarks.processes import MIB, descendants, processes
from lab.faults.auditor import check_whole
from lab.faults.scene import Scene
from pipelines.io.delta.files import MANY_SMALL
from pipelines.io.duckdb.reader import LakeReader
from pipelines.processes.signals import signals_interrupt
from pipelines.state.snapshots import snapshot
from tests.comparison import assert_tables_equal_log
from tests.integration.log_reader import read_log

SAMPLE_SECONDS = 5.0
REST_SECONDS = 20.0
"""Between two commands of maintenance."""

ONE_IN = 100
OF_PACKAGES = ("silver.ship_events", "silver.ship_routes", "gold.remaining_stops", "gold.failed_delivery_alerts")

MOST_BEHIND = 0.05
"""Of the time: a feed that takes longer sends fewer records in a second than it was told."""

MOST_GROWTH = 1.25
"""Of the median of the last third over that of the second: more is growth, less is what a shared machine does."""


@dataclass(frozen=True)
class Sample:
    """The job at one moment.

    Attributes:
        minutes: Since the first batch.
        resident_mib: Memory of its process and of all that it started.
        open_files: Of the same.
        table_files: Data files, by table.
        batch_seconds: Of the last batch.
        lag_records: Records that were on the log and not in the tables after it.
    """

    minutes: float
    resident_mib: int
    open_files: int
    table_files: dict[str, int]
    batch_seconds: float
    lag_records: int


WATCHED = {
    "resident_mib": "Resident memory, MiB",
    "open_files": "Open files",
    "batch_seconds": "Seconds per batch",
}
FEW_FILES = MANY_SMALL - 1
"""So many of a table are left as they are by a compaction: that they come and go is no growth."""


class Series(NamedTuple):
    """What is watched: a value for each sample, and the least of which growth is told."""

    title: str
    values: list[float]
    least: float = 1e-9

    @property
    def growth(self) -> float:
        """Its median in the last third over that in the second third of the samples."""
        third = len(self.values) // 3
        second, last = (
            max(median(part), self.least) for part in (self.values[third : 2 * third], self.values[2 * third :])
        )
        return last / second


def series(samples: Sequence[Sample]) -> list[Series]:
    """Each thing that is watched, and the files of each table."""
    tables = sorted({name for sample in samples for name in sample.table_files})
    return [
        *(Series(title, [float(getattr(sample, name)) for sample in samples]) for name, title in WATCHED.items()),
        *(
            Series(f"Files of {table}", [float(sample.table_files.get(table, 0)) for sample in samples], FEW_FILES)
            for table in tables
        ),
    ]


class Sampler:
    """Takes samples of a job and its lake."""

    def __init__(self, pid: int, log: Path, lake: str) -> None:
        self._pid, self._log, self._lake = pid, log, lake
        self._began = time.monotonic()
        self.samples: list[Sample] = []

    def take(self) -> None:
        everybody = processes()
        tree = descendants(self._pid, everybody, set())
        batch = batches(self._log)[-1]
        reader = LakeReader(self._lake)
        self.samples.append(
            Sample(
                round((time.monotonic() - self._began) / 60, 3),
                sum(process.resident_bytes for process in tree) // MIB,
                sum(_open_files(process.identity[0]) for process in tree),
                {name: len(reader.open(name).file_uris()) for name in reader.table_names()},
                batch["duration_seconds"],
                batch["lag_records"],
            )
        )


def _open_files(pid: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return 0


def soaked(folder: Path, minutes: float, rate: int, packages: int, say: Callable[[str], None]) -> list[Sample]:
    """Runs it. Raises `AssertionError` when a command fails, or the tables are not whole."""
    scene = Scene(folder, 0)
    scene.records_per_batch = 1_000_000
    with scene.open():
        steady_feed.append_routes(scene.servers, packages)
        with scene.pts("stream") as (job, log):
            scene.await_batch(log, job)
            feed = steady_feed.command(scene.servers, packages, rate, minutes * 60).start(
                folder / "feed.log", stdout=subprocess.PIPE
            )
            has_ended = Event()
            try:
                with ThreadPoolExecutor(1) as pool:
                    maintenance = pool.submit(_maintain, scene, has_ended, say)
                    sampler = Sampler(job.pid, log, scene.root)
                    try:
                        while feed.poll() is None and not maintenance.done():
                            assert job.poll() is None, log.read_text()[-3000:]
                            sampler.take()
                            time.sleep(SAMPLE_SECONDS)
                    finally:
                        has_ended.set()
                    maintenance.result()
                said, _ = feed.communicate()
                assert feed.returncode == 0, f"the feed ended by code {feed.returncode}"
                behind = json.loads(said)["behind_seconds"] / (60 * minutes)
                assert behind < MOST_BEHIND, f"the feed took {behind:.0%} longer than it should"
            finally:
                end(feed)
            scene.stop(job, log)
        scene.done("stream", "--drain", seconds=1_800)
        scene.done("verify", seconds=1_800)
        check_whole(scene.root, snapshot(scene.root))
        judge_some_packages(scene)
    return sampler.samples


def judge_some_packages(scene: Scene) -> None:
    """What the tables have of some packages is the oracle's: by package, all is decided by its own records."""
    records = read_log(scene.servers, is_wanted=lambda key: key is not None and int(key) % ONE_IN == 0)
    assert records, "none of these packages is on the log"
    assert_tables_equal_log(scene.root, records, OF_PACKAGES, where=f"tracking_number % {ONE_IN} = 0")


def _maintain(scene: Scene, has_ended: Event, say: Callable[[str], None]) -> None:
    today = datetime.now(UTC)
    interval = ("--from", f"{today:%Y-%m-%d}", "--to", f"{today + timedelta(days=1):%Y-%m-%d}")
    for command in cycle((("compact",), ("backfill", *interval), ("verify",), ("rebuild", "gold.carrier_throughput"))):
        if has_ended.wait(REST_SECONDS):
            return
        began = time.monotonic()
        scene.done(*command, seconds=1_800)
        say(f"{' '.join(command)}: {time.monotonic() - began:.0f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.faults.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=5_000, help="scans per second")
    parser.add_argument("--packages", type=int, default=50_000)
    parser.add_argument("--plots", type=Path, help="the folder for four plots, and what they show as JSON")
    asked = parser.parse_args(arguments)
    with signals_interrupt(), tempfile.TemporaryDirectory(prefix="pts-soak-") as work:
        samples = soaked(Path(work), asked.minutes, asked.rate, asked.packages, _say)
    if asked.plots:
        write_plots(samples, asked.plots)
    return told(samples)


def write_plots(samples: Sequence[Sample], folder: Path) -> None:
    """An SVG file for each thing that is watched, one for the table with most files, and all samples."""
    plots = {
        **{name: (title, [getattr(sample, name) for sample in samples]) for name, title in WATCHED.items()},
        "table_files": ("Files of the largest table", [max(sample.table_files.values()) for sample in samples]),
    }
    for name, (title, values) in plots.items():
        points = [(sample.minutes, float(value)) for sample, value in zip(samples, values, strict=True)]
        path = folder / f"soak-{name.replace('_', '-')}.svg"
        path.write_text(line_chart(title, "minutes", points), encoding="utf-8")
    (folder / "soak.json").write_text(json.dumps([asdict(sample) for sample in samples]) + "\n", encoding="utf-8")


def told(samples: Sequence[Sample]) -> int:
    """The exit code, after what was found."""
    watched = series(samples)
    for each in watched:
        middle = median(each.values)
        _say(f"{each.title}: median {middle:,.1f}; {each.growth:.2f} times from the second third to the last")
    lags = [sample.lag_records for sample in samples]
    _say(f"Lag in records: median {median(lags):,.0f}, most {max(lags):,}")
    if grown := [each.title for each in watched if each.growth > MOST_GROWTH]:
        _say(f"Grown by more than {MOST_GROWTH}: {', '.join(grown)}.")
        return 1
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
