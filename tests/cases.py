"""Random small logs, and how many of them are packed into one run.

A run of the flows costs about the same for one case as for hundreds. So each case gets packages, places and hours of
its own, and the rows of all of them can be told apart afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lab.faults.records import ODD_TIMES_MS
from pipelines.contracts.epoch import EPOCH
from tests.oracle.records import LogRecord

SEED = 20261121
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
PACKAGES = 10
"""Tracking numbers that belong to a case: `number * PACKAGES` and on."""

BATCHES = 4
MICROSECOND, SECOND, MINUTE = timedelta(microseconds=1), timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

MOMENTS = [
    edge + step
    for edge in (2 * HOUR, 2 * HOUR + 5 * MINUTE, 2 * HOUR + 10 * MINUTE, 2 * HOUR + 20 * MINUTE, 3 * HOUR)
    for step in (-MICROSECOND, timedelta(0), MICROSECOND)
]
"""After midnight of the case's day: at, just before and just after the edges of windows, and an hour apart."""

DELAYS = [timedelta(0), MINUTE, 6 * HOUR, 7 * DAY, 7 * DAY + SECOND, -10 * MINUTE, -10 * MINUTE - SECOND]
"""From when it happened to when it reached the log: also as far as the rules allow, and farther."""

GAPS = (0, 0, 0, 1, 2, 5)
"""As many offsets as transactions leave without a record: those of their markers, and of what was taken back."""

CITIES = [*"abcdefghijklm", ""]
BAD_VALUES = [b"", b"\xff", b"only,three,fields", b'"open', b"0,2026-01-01T00:00:00,S,IT,,,,,,,1"]


@dataclass(frozen=True)
class Scan:
    """A scan: of a package of the case, at a moment of its day; with a Kafka timestamp that the producer got wrong, if
    one is given.
    """

    package: int
    moment: timedelta
    delay: timedelta
    code: str
    status: str
    carrier: str
    city: str
    stop: int
    odd_ms: int | None = None


@dataclass(frozen=True)
class Route:
    """A route, or with `end` None its withdrawal; as for a scan, perhaps with a timestamp that is wrong."""

    package: int
    moment: timedelta
    end: int | None
    odd_ms: int | None = None


@dataclass(frozen=True)
class Bad:
    """An event that some rule rejects."""

    package: int
    value: bytes


Entry = Scan | Route | Bad


@dataclass(frozen=True)
class Case:
    """A log in the order in which it was written, and for each entry the batch that reads it.

    A partition is read in order, so the batch of an entry is that of the entry before it in its partition or a later
    one; across partitions and topics, batches interleave in any way.
    """

    entries: tuple[Entry, ...]
    batch_of: tuple[int, ...]


packages = st.integers(1, 3)
moments = st.sampled_from(MOMENTS)
delays = st.sampled_from([*DELAYS[:1] * 4, *DELAYS])
cities = st.sampled_from(CITIES)
stops = st.integers(0, 2)
codes = st.sampled_from("AB")
statuses = st.sampled_from(["IT", "DF", "DL", ""])
carriers = st.sampled_from(["X", ""])

ends = st.none() | st.integers(0, 3)
odd_times = st.sampled_from(ODD_TIMES_MS)

scans = st.builds(Scan, packages, moments, delays, codes, statuses, carriers, cities, stops)
routes = st.builds(Route, packages, moments, ends)
odd = st.builds(Scan, packages, moments, delays, codes, statuses, carriers, cities, stops, odd_times) | st.builds(
    Route, packages, moments, ends, odd_times
)
bad_events = st.builds(Bad, packages, st.sampled_from(BAD_VALUES))
failures = st.builds(Scan, st.just(1), moments, delays, codes, st.just("DF"), st.just("X"), st.just("a"), stops)
visits = st.builds(
    Scan, packages, st.sampled_from(MOMENTS[4:7]), st.just(DELAYS[0]), codes, statuses, carriers, cities, stops
)

logs: st.SearchStrategy[list[Entry]] = st.one_of(
    st.lists(scans | scans | scans | routes | bad_events, min_size=1, max_size=24),
    st.lists(failures | failures | scans, min_size=3, max_size=16),  # enough for alerts
    st.lists(visits, min_size=12, max_size=30),  # enough stops in a window for a leaderboard that leaves some out
)
odd_logs: st.SearchStrategy[list[Entry]] = logs | st.lists(
    scans | scans | scans | routes | routes | odd, min_size=1, max_size=24
)


@st.composite
def cases(draw: st.DrawFn, of: st.SearchStrategy[list[Entry]]) -> Case:
    """A log of up to some 30 entries; scans are repeated often, because duplicates matter."""
    entries = draw(of)
    told = [entry for entry in entries if isinstance(entry, Scan)]
    if told:
        repeats = draw(st.lists(st.tuples(st.integers(0, len(entries)), st.sampled_from(told)), max_size=6))
        for place, scan in repeats:
            entries.insert(place, scan)
    batch_of, reached = [], dict.fromkeys(range(4), 0)
    for entry in entries:
        stream = entry.package % 2 + 2 * isinstance(entry, Route)
        reached[stream] = draw(st.integers(reached[stream], BATCHES - 1))
        batch_of.append(reached[stream])
    return Case(tuple(entries), tuple(batch_of))


@cache
def drawn(count: int, with_odd_times: bool = False) -> tuple[Case, ...]:
    """The same cases at every run."""
    found: list[Case] = []

    @seed(SEED)
    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
    @given(cases(odd_logs if with_odd_times else logs))
    def draw(case: Case) -> None:
        found.append(case)

    draw()
    return tuple(found)


@dataclass(frozen=True)
class Pack:
    """Many cases as one log, cut into batches."""

    batches: tuple[tuple[LogRecord, ...], ...]
    case_of: dict[tuple[str, int, int], int]

    @property
    def records(self) -> list[LogRecord]:
        return [record for batch in self.batches for record in batch]

    def case(self, row: dict[str, Any]) -> int:
        """Which case a table's row belongs to."""
        if "reason" in row:
            return self.case_of[row["kafka_topic"], row["kafka_partition"], row["kafka_offset"]]
        if "tracking_number" in row:
            return int(row["tracking_number"]) // PACKAGES
        return (EPOCH + timedelta(microseconds=row["window_start"]) - FIRST_DAY) // DAY


def packed(all_cases: Sequence[Case], gaps: Sequence[int] = (0,)) -> Pack:
    """The cases as one log. Before each record, so many offsets as one of `gaps` are no record's."""
    chance = Random(SEED)
    offsets: dict[tuple[str, int], int] = {}
    case_of: dict[tuple[str, int, int], int] = {}
    made = []
    for batch in range(BATCHES):
        records = []
        for number, case in enumerate(all_cases):
            for entry, its_batch in zip(case.entries, case.batch_of, strict=True):
                if its_batch == batch:
                    topic, partition = "ship-routes" if isinstance(entry, Route) else "ship-events", entry.package % 2
                    offset = offsets.get((topic, partition), 0) + chance.choice(gaps)
                    offsets[topic, partition] = offset + 1
                    case_of[topic, partition, offset] = number
                    records.append(_record(entry, number, topic, partition, offset))
        made.append(tuple(records))
    return Pack(tuple(made), case_of)


@cache
def pack_of(count: int) -> Pack:
    """So many drawn cases as one log."""
    return packed(drawn(count))


def _record(entry: Entry, case: int, topic: str, partition: int, offset: int) -> LogRecord:
    package = case * PACKAGES + entry.package
    happened = FIRST_DAY + case * DAY + (entry.moment if not isinstance(entry, Bad) else 2 * HOUR)
    logged = happened + (entry.delay if isinstance(entry, Scan) else timedelta(0))
    value: bytes | None
    match entry:
        case Scan():
            place = f"US,{'S' if entry.city else ''},{entry.city},"
            value = (
                f"{package},{happened.isoformat()},{entry.code},{entry.status},,{entry.carrier},{place},{entry.stop}"
            ).encode()
        case Route():
            value = None if entry.end is None else f"{offset},{package},{entry.end}".encode()
        case Bad():
            value = entry.value
    odd_ms = None if isinstance(entry, Bad) else entry.odd_ms
    timestamp_ms = (logged - EPOCH) // timedelta(milliseconds=1) if odd_ms is None else odd_ms
    return LogRecord(topic, partition, offset, timestamp_ms, str(package).encode(), value)
