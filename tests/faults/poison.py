"""Do bad records slow the job down, or fill its memory?

    python -m tests.faults.poison [--records 1000000]

Drains a log of so many good events, one of as many of which every one is bad, one of events of 1 MB, a five-hundredth
as many, and one of events of 10 MB, a tenth of that. Each has a broker, a process and a lake of its own. Prints
seconds from the start of the process to its end, records per second and the most memory that the process and all that
it started held. Ends with 1 when bad records go at less than half the speed of good ones, when others take more than
one and a half times their memory, or when one of any is not where it belongs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path

from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.log_producer import LogProducer
from pipelines.jobs.interrupts import signals_interrupt
from pipelines.simulation.record import Record
from tests.benchmarks.contenders import Drain, lake_rows, pts
from tests.benchmarks.driving import RunFailed, end
from tests.benchmarks.processes import Tree
from tests.benchmarks.seeded_log import broker

FIRST_MS = 1_772_359_200_000
PACKAGES = 100_000
PORTION = 100
LEAST_RATIO = 0.5
MOST_MEMORY_RATIO = 1.5
LARGE_SHARE, HUGE_SHARE = 500, 5_000


@dataclass(frozen=True)
class Measured:
    """What a drain took."""

    records: int
    seconds: float
    resident_mib: int

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds


def good(number: int) -> Record:
    """A scan of one of the packages, a millisecond after the one before it: no two are the same."""
    moment_ms = FIRST_MS + number
    package = number % PACKAGES + 1
    value = f"{package},{_time(moment_ms)},SCAN,IT,In transit,UPS,US,NY,New York,{package % 1000:05},{package % 50}"
    return Record(SHIP_EVENTS.name, b"%d" % package, value.encode(), moment_ms)


def bad(number: int) -> Record:
    """The same, spoiled in one of the ways that the rules of the quarantine are about."""
    record = good(number)
    assert record.value is not None
    return SPOILS[number % len(SPOILS)](record, record.value)


def large(number: int) -> Record:
    """The same with a text of a megabyte, which the rules accept."""
    return _with_text(number, 1_000_000)


def huge(number: int) -> Record:
    """The same with ten of them."""
    return _with_text(number, 10_000_000)


def _with_text(number: int, length: int) -> Record:
    record = good(number)
    assert record.value is not None
    return record._replace(value=record.value.replace(b"In transit", b"%07d " % number * (length // 8)))


SPOILS: tuple[Callable[[Record, bytes], Record], ...] = (
    lambda record, _: record._replace(value=None),
    lambda record, value: record._replace(value=value.replace(b"New York", b"M\xfcnchen!")),
    lambda record, value: record._replace(value=value + b","),
    lambda record, value: record._replace(value=value.replace(b"In transit", b'"In" transit')),
    lambda record, value: record._replace(value=value.replace(b"SCAN", b"")),
    lambda record, value: record._replace(value=value.replace(b"T", b"t", 1)),
    lambda record, value: record._replace(value=b"-" + value),
    lambda record, _: record._replace(key=b"0" + (record.key or b"")),
    lambda record, _: record._replace(timestamp_ms=record.timestamp_ms - 11 * 60_000),
    lambda record, _: record._replace(timestamp_ms=record.timestamp_ms + 8 * 86_400_000),
)
"""One for each reason, and a second one for `malformed`."""


def _time(moment_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=moment_ms)).isoformat("T", "milliseconds").removesuffix("+00:00")


def drained(record: Callable[[int], Record], count: int, table: str, work: Path) -> Measured:
    """Appends so many records to a new log and drains it into a new lake.

    Raises `RunFailed` when the job fails, or leaves another number of rows in the table.
    """
    with broker(work / "broker") as settings:
        producer, numbers = LogProducer(settings.bootstrap_servers), iter(range(count))
        for portion in _portions(numbers):
            producer.append(map(record, portion))
        producer.flush()
        drain = Drain(settings.bootstrap_servers, "", str(work / "home"))
        seconds, tree = _run(drain, work / "drain.log")
        rows = lake_rows(drain)[table]
    if rows != count:
        raise RunFailed(f"{table} has {rows:,} rows, not {count:,}.")
    return Measured(count, seconds, tree.greatest_resident_mib())


def _portions(numbers: Iterator[int]) -> Iterator[list[int]]:
    while portion := list(islice(numbers, PORTION)):
        yield portion


def _run(drain: Drain, log: Path) -> tuple[float, Tree]:
    began = time.monotonic()
    process = pts(drain, "stream", "--drain").start(log, stdout=subprocess.DEVNULL)
    tree = Tree(process.pid)
    try:
        with tree.followed():
            code = process.wait()
    finally:
        end(process)
    if code:
        raise RunFailed(f"pts stream --drain ended with {code}:\n{log.read_text()[-5000:]}")
    return time.monotonic() - began, tree


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.poison", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="in each of the two logs")
    count = parser.parse_args(arguments).records
    with signals_interrupt(), tempfile.TemporaryDirectory() as work:
        others = {
            "bad": (bad, count, "silver.quarantine"),
            "large": (large, max(1, count // LARGE_SHARE), "silver.ship_events"),
            "huge": (huge, max(1, count // HUGE_SHARE), "silver.ship_events"),
        }
        of_good = _told("good", drained(good, count, "silver.ship_events", Path(work, "good")))
        found = {name: _told(name, drained(*what, Path(work, name))) for name, what in others.items()}
    return told_ratios(of_good, **found)


def told_ratios(of_good: Measured, *, bad: Measured, **large: Measured) -> int:
    """The exit code, after the ratios of speed and memory."""
    speed = bad.records_per_second / of_good.records_per_second
    sys.stdout.write(f"bad to good: {speed:.2f} of the speed\n")
    faults = [f"Bad records go at less than {LEAST_RATIO} of the speed of good ones."] * (speed < LEAST_RATIO)
    for name, measured in {"bad": bad, **large}.items():
        memory = measured.resident_mib / of_good.resident_mib
        sys.stdout.write(f"{name} to good: {memory:.2f} of the memory\n")
        if memory > MOST_MEMORY_RATIO:
            faults.append(f"{name.capitalize()} records take more than {MOST_MEMORY_RATIO} times their memory.")
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


def _told(name: str, measured: Measured) -> Measured:
    sys.stdout.write(
        f"{name}: {measured.records:,} records in {measured.seconds:.1f} s, "
        f"{measured.records_per_second:,.0f} records/s, {measured.resident_mib:,} MiB\n"
    )
    sys.stdout.flush()
    return measured


if __name__ == "__main__":
    sys.exit(main())
