"""Windows in event time."""

from collections.abc import Iterable
from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW

MICROSECOND = timedelta(microseconds=1)
SECONDS_PER_HOUR = 3600
MICROS_PER_HOUR = SECONDS_PER_HOUR * 1_000_000


def tumbling_start(time: Column, length: timedelta) -> Column:
    """Start of the window `[start, start + length)` around a time; aligned to the Unix epoch, also before it."""
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(length // MICROSECOND)))


def sliding_starts(time: Column) -> Column:
    """Starts of all sliding windows that contain the time, as an array."""
    last = tumbling_start(time, SLIDE)
    return F.array(*(last - F.lit(SLIDE * number) for number in range(SLIDING_WINDOW // SLIDE)))


def hour_of(time: Column) -> Column:
    """Number of the hour since the Unix epoch; negative before it."""
    return F.floor(F.unix_seconds(time) / SECONDS_PER_HOUR)


def hour_spans(hours: Iterable[int]) -> list[tuple[int, int]]:
    """The hours as few half-open ranges, in microseconds since the Unix epoch."""
    ranges: list[tuple[int, int]] = []
    for hour in sorted(hours):
        begin = ranges.pop()[0] if ranges and ranges[-1][1] == hour else hour
        ranges.append((begin, hour + 1))
    return [(begin * MICROS_PER_HOUR, end * MICROS_PER_HOUR) for begin, end in ranges]


def in_spans(time: Column, spans: Iterable[tuple[int, int]]) -> Column:
    """Whether the time is in one of the ranges."""
    condition = F.lit(False)
    for begin, end in spans:
        first, after = (F.timestamp_micros(F.lit(edge).cast("bigint")) for edge in (begin, end))
        condition = condition | ((time >= first) & (time < after))
    return condition
