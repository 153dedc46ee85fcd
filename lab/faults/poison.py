"""Do bad records slow the job down, or fill its memory?

    python -m lab.faults.poison [--records 1000000]

Drains logs of events: so many good ones, as many of which every one is bad, the same two in JSON, a five-hundredth as
many of 1 MB, and a tenth of that of 10 MB. Each has a broker, a process and a lake of its own. Prints seconds from the
start of the process to its end, records per second and the most memory that the process and all that it started held.
Ends with 1 when bad records go at less than half the speed of good ones, when others take more than one and a half
times the memory of good ones, or when one of any is not where it belongs.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

from lab.benchmarks.contenders import Drain, lake_rows, pts
from lab.benchmarks.driving import RunFailed, end
from lab.benchmarks.processes import Tree
from lab.benchmarks.seeded_log import broker
from pipelines.contracts.encode import csv_record
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer
from pipelines.processes.signals import signals_interrupt
from pipelines.simulation.record import Record
from pipelines.simulation.wire import Encode, encoder
from pipelines.wire_format import WireFormat

FIRST_MS = 1_772_359_200_000
PACKAGES = 100_000
PORTION = 100
LEAST_RATIO = 0.5
MOST_MEMORY_RATIO = 1.5
LARGE_SHARE, HUGE_SHARE = 500, 5_000
GOOD, GOOD_JSON = "good", "good JSON"
GOOD_OF = {"bad": GOOD, "bad JSON": GOOD_JSON}
"""Whose speed is whose measure."""


@dataclass(frozen=True)
class Measured:
    """What a drain took."""

    records: int
    seconds: float
    resident_mib: int

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds


Spoil = Callable[[Record, bytes], Record]


def good(number: int) -> Record:
    """A scan of one of the packages, a millisecond after the one before it: no two are the same."""
    return _scan(number, csv_record)


def good_json(number: int) -> Record:
    return _scan(number, AS_JSON)


AS_JSON = encoder(SHIP_EVENTS, "json")


def _scan(number: int, encode: Encode) -> Record:
    moment_ms = FIRST_MS + number
    package = number % PACKAGES + 1
    place = ("UPS", "US", "NY", "New York", f"{package % 1000:05}")
    fields = (str(package), _time(moment_ms), "SCAN", "IT", "In transit", *place, str(package % 50))
    return Record(SHIP_EVENTS.name, b"%d" % package, encode(fields), moment_ms)


def bad(number: int) -> Record:
    """The same, spoiled in one of the ways that the rules of the quarantine are about."""
    return _spoiled(good(number), number, (*SPOILS, *SPOILS_OF_CSV))


def bad_json(number: int) -> Record:
    return _spoiled(good_json(number), number, (*SPOILS, *SPOILS_OF_JSON))


def _spoiled(record: Record, number: int, spoils: Sequence[Spoil]) -> Record:
    assert record.value is not None
    return spoils[number % len(spoils)](record, record.value)


def large(number: int) -> Record:
    """The same with a text of a megabyte, which the rules accept."""
    return _with_text(number, 1_000_000)


def huge(number: int) -> Record:
    """The same with a text of ten megabytes."""
    return _with_text(number, 10_000_000)


def _with_text(number: int, length: int) -> Record:
    record = good(number)
    assert record.value is not None
    return record._replace(value=record.value.replace(b"In transit", b"%07d " % number * (length // 8)))


def _replaced(old: bytes, new: bytes) -> Spoil:
    return lambda record, value: record._replace(value=value.replace(old, new, 1))


def _with_stop(text: bytes) -> Spoil:
    """In a CSV line, the last field; in JSON, the last member."""
    return lambda record, value: record._replace(value=LAST_NUMBER.sub(text, value))


LAST_NUMBER = re.compile(rb"[0-9]+(?=}?$)")

SPOILS: tuple[Spoil, ...] = (
    lambda record, _: record._replace(value=None),
    lambda record, value: record._replace(value=value + b","),
    lambda record, _: record._replace(key=b"0" + (record.key or b"")),
    lambda record, _: record._replace(timestamp_ms=record.timestamp_ms - 11 * 60_000),
    lambda record, _: record._replace(timestamp_ms=record.timestamp_ms + 8 * 86_400_000),
    *(_replaced(b"New York", b"M\xfcnchen!"), _replaced(b"2026-", b"0000-")),
    *(_replaced(b"2026-", b"9999-"), _replaced(b"2026-", b"-0001-"), _replaced(b"T", b"t")),
    *(_with_stop(b"9" * 40), _with_stop(b"%d" % 2**63), _with_stop(b"1e999"), _with_stop(b"NaN"), _with_stop(b"-1")),
)
"""One for each reason but `missing_field`, which each format has its own of, and more for what is no time or number."""

SPOILS_OF_CSV = (
    _replaced(b"SCAN", b""),
    *(_replaced(b"In transit", b'"In" transit'), _replaced(b"In transit", b'"In transit'), _replaced(b"UPS", b"\n")),
    lambda record, value: record._replace(value=b"\xef\xbb\xbf" + value),
    lambda record, value: record._replace(value=b"\0" + value),
)
SPOILS_OF_JSON = (
    _replaced(b'"SCAN"', b"null"),
    _replaced(b"{", b'{"country":"US",'),  # a name that is there twice
    _replaced(b"{", b'{"deep":' + b"[" * 1_001 + b"]" * 1_001 + b","),
    lambda record, value: record._replace(value=b"\xef\xbb\xbf" + value),
    lambda record, value: record._replace(value=value + b"\0"),
)


def _time(moment_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=moment_ms)).isoformat("T", "milliseconds").removesuffix("+00:00")


def drained(record: Callable[[int], Record], count: int, table: str, wire_format: WireFormat, work: Path) -> Measured:
    """Appends so many records to a new log and drains it into a new lake.

    Raises `RunFailed` when the job fails, or leaves another number of rows in the table.
    """
    with broker(work / "broker") as settings:
        producer, numbers = LogProducer(Connection(settings.bootstrap_servers)), iter(range(count))
        for portion in _portions(numbers):
            producer.append(map(record, portion))
        producer.flush()
        drain = Drain(settings.bootstrap_servers, "", str(work / "home"))
        seconds, tree = _run(drain, wire_format, work / "drain.log")
        rows = lake_rows(drain)[table]
    if rows != count:
        raise RunFailed(f"{table} has {rows:,} rows, not {count:,}.")
    return Measured(count, seconds, tree.greatest_resident_mib())


def _portions(numbers: Iterator[int]) -> Iterator[list[int]]:
    while portion := list(islice(numbers, PORTION)):
        yield portion


def _run(drain: Drain, wire_format: WireFormat, log: Path) -> tuple[float, Tree]:
    began = time.monotonic()
    command = pts(drain, "stream", "--drain")
    variables = {**command.environment, "PTS_KAFKA__SHIP_EVENTS_FORMAT": wire_format}
    process = replace(command, environment=variables).start(log, stdout=subprocess.DEVNULL)
    tree = Tree(process.pid)
    try:
        with tree.followed():
            code = process.wait()
    finally:
        end(process)
    if code:
        raise RunFailed(f"pts stream --drain ended with {code}:\n{log.read_text(encoding='utf-8')[-5000:]}")
    return time.monotonic() - began, tree


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.faults.poison", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="in each log of the ordinary size")
    count = parser.parse_args(arguments).records
    scans, rejects = "silver.ship_events", "silver.quarantine"
    logs: dict[str, tuple[Callable[[int], Record], int, str, WireFormat]] = {
        GOOD: (good, count, scans, "csv"),
        "bad": (bad, count, rejects, "csv"),
        GOOD_JSON: (good_json, count, scans, "json"),
        "bad JSON": (bad_json, count, rejects, "json"),
        "large": (large, max(1, count // LARGE_SHARE), scans, "csv"),
        "huge": (huge, max(1, count // HUGE_SHARE), scans, "csv"),
    }
    with signals_interrupt(), tempfile.TemporaryDirectory() as work:
        return told_ratios({name: _told(name, drained(*log, Path(work, name))) for name, log in logs.items()})


def told_ratios(found: Mapping[str, Measured]) -> int:
    """The exit code, after the ratios of speed and memory."""
    faults = []
    for name, other in GOOD_OF.items():
        speed = found[name].records_per_second / found[other].records_per_second
        sys.stdout.write(f"{name} to {other}: {speed:.2f} of the speed\n")
        faults += [f"Records that are {name} go at less than {LEAST_RATIO} of the speed."] * (speed < LEAST_RATIO)
    for name in (each for each in found if each not in GOOD_OF.values()):
        other = GOOD_OF.get(name, GOOD)
        memory = found[name].resident_mib / found[other].resident_mib
        sys.stdout.write(f"{name} to {other}: {memory:.2f} of the memory\n")
        faults += [f"Records that are {name} take more than {MOST_MEMORY_RATIO} times the memory."] * (
            memory > MOST_MEMORY_RATIO
        )
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
