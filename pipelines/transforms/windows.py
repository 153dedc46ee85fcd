"""Windows in event time."""

from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW

MICROSECOND = timedelta(microseconds=1)


def tumbling_start(time: Column, length: timedelta) -> Column:
    """Start of the window `[start, start + length)` around a time; aligned to the Unix epoch, also before it."""
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(length // MICROSECOND)))


def sliding_starts(time: Column) -> Column:
    """Starts of all sliding windows that contain the time, as an array."""
    last = tumbling_start(time, SLIDE)
    return F.array(*(last - F.lit(SLIDE * number) for number in range(SLIDING_WINDOW // SLIDE)))
