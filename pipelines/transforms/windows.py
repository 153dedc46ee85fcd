"""Windows and hours in event time."""

from collections.abc import Iterable
from datetime import timedelta

from duckdb import DuckDBPyConnection as Cursor

from pipelines.contracts.rules import SLIDE, SLIDING_WINDOW

MICROSECOND = timedelta(microseconds=1)
MICROS_PER_HOUR = timedelta(hours=1) // MICROSECOND


def tumbling_start(time: str, length: timedelta) -> str:
    """Start of the window `[start, start + length)` around a time; aligned to the Unix epoch, also before it."""
    micros, micros_long = f"epoch_us({time})", length // MICROSECOND
    return f"make_timestamptz({micros} - ({micros} % {micros_long} + {micros_long}) % {micros_long})"


def sliding_starts(time: str) -> str:
    """Starts of all sliding windows that contain the time, as a list."""
    last = tumbling_start(time, SLIDE)
    return f"[{', '.join(f'{last} - {interval(SLIDE * number)}' for number in range(SLIDING_WINDOW // SLIDE))}]"


def interval(length: timedelta) -> str:
    """The length as SQL."""
    return f"to_microseconds({length // MICROSECOND})"


def hour_of(time: str) -> str:
    """Number of the hour since the Unix epoch; negative before it."""
    return f"epoch_us({tumbling_start(time, timedelta(hours=1))}) // {MICROS_PER_HOUR}"


def hours_with_scans(cursor: Cursor, rows: str) -> list[tuple[int, int]]:
    """The hours in which the scans of a query's rows happened, as `hour_spans` gives them."""
    hours = cursor.execute(f"SELECT DISTINCT {hour_of('occurred_at')} FROM ({rows})").fetchall()
    return hour_spans(hour for (hour,) in hours)


def hour_spans(hours: Iterable[int]) -> list[tuple[int, int]]:
    """The hours as few half-open ranges, in microseconds since the Unix epoch."""
    ranges: list[tuple[int, int]] = []
    for hour in sorted(hours):
        begin = ranges.pop()[0] if ranges and ranges[-1][1] == hour else hour
        ranges.append((begin, hour + 1))
    return [(begin * MICROS_PER_HOUR, end * MICROS_PER_HOUR) for begin, end in ranges]
