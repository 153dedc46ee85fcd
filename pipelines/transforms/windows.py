"""Windows in event time."""

from collections.abc import Iterable
from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW

MICROSECOND = timedelta(microseconds=1)
SECONDS_PER_HOUR = 3600


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


def in_hours(time: Column, hours: Iterable[int]) -> Column:
    """Whether the time is in one of the hours. They become as few ranges as may be, by which Delta skips files."""
    condition = F.lit(False)
    for begin, end in _ranges(sorted(hours)):
        first, after = (F.timestamp_seconds(F.lit(hour * SECONDS_PER_HOUR)) for hour in (begin, end))
        condition = condition | ((time >= first) & (time < after))
    return condition


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as half-open ranges without gaps."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        begin = ranges.pop()[0] if ranges and ranges[-1][1] == number else number
        ranges.append((begin, number + 1))
    return ranges
