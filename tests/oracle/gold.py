"""The gold tables, each by a function of its name, from the distinct accepted `scans` and the versions of `routes`."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.oracle.judge import SECOND, Row

PANE = 5 * 60 * SECOND
SLIDING_WINDOW = 2 * PANE
HOUR = 3600 * SECOND
LEADERBOARD_SIZE = 10
ALERT_COUNT = 3

STOP = ("country", "state", "city", "postal_code")
_SCAN_COLUMNS = (
    "occurred_at",
    "current_stop_id",
    "event_code",
    "status_code",
    "status_description",
    "carrier_code",
    *STOP,
)
_KAFKA_COLUMNS = ("kafka_partition", "kafka_offset", "kafka_timestamp")


def remaining_stops(scans: Iterable[Row], routes: Iterable[Row]) -> list[Row]:
    """One row per package: its latest scan beside its route in force; a side that is not there is all null."""
    latest = _greatest_per_package(scans, _moment_of_scan)
    in_force = _greatest_per_package(routes, _place_on_log)
    return [_report(package, latest.get(package, {}), in_force.get(package, {})) for package in latest | in_force]


def _moment_of_scan(scan: Row) -> tuple[int, ...]:
    """Of one moment the later stop counts, there the delivery, and then what the log says."""
    return (scan["occurred_at"], scan["current_stop_id"], scan["status_code"] == "DL", *_place_on_log(scan))


def _place_on_log(row: Row) -> tuple[int, ...]:
    return row["kafka_timestamp"], row["kafka_partition"], row["kafka_offset"]


def _greatest_per_package(rows: Iterable[Row], order: Callable[[Row], tuple[int, ...]]) -> dict[int, Row]:
    greatest: dict[int, tuple[tuple[int, ...], Row]] = {}
    for row in rows:
        rank, package = order(row), row["tracking_number"]
        if package not in greatest or greatest[package][0] < rank:
            greatest[package] = (rank, row)
    return {package: row for package, (_, row) in greatest.items()}


def _report(package: int, scan: Row, route: Row) -> Row:
    current_stop_id, end_stop_id = scan.get("current_stop_id"), route.get("end_stop_id")
    remaining = None if current_stop_id is None or end_stop_id is None else end_stop_id - current_stop_id
    return {
        "tracking_number": package,
        "number_of_remaining_stops": remaining,
        "end_stop_id": end_stop_id,
        "route_id": route.get("route_id"),
        **{column: scan.get(column) for column in _SCAN_COLUMNS},
        **{f"event_{column}": scan.get(column) for column in _KAFKA_COLUMNS},
        **{f"route_{column}": route.get(column) for column in _KAFKA_COLUMNS},
    }


def stop_activity(scans: Iterable[Row]) -> list[Row]:
    """One row per stop and window of ten minutes, one of which starts every five; a null is a value like any other."""
    counts: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for scan in scans:
        stop = tuple(scan[column] for column in STOP)
        pane = scan["occurred_at"] // PANE * PANE
        for window_start in (pane - PANE, pane):
            count = counts[window_start, *stop]
            count[0] += 1
            count[1] += scan["status_code"] == "DL"
            count[2] += scan["status_code"] == "DF"
    return [
        {
            "window_start": window_start,
            "window_end": window_start + SLIDING_WINDOW,
            **dict(zip(STOP, stop, strict=True)),
            "scan_count": scan_count,
            "delivered_count": delivered_count,
            "failed_count": failed_count,
        }
        for (window_start, *stop), (scan_count, delivered_count, failed_count) in counts.items()
    ]


def busiest_stops(scans: Iterable[Row]) -> list[Row]:
    """The ten stops of each window with the most scans; equals in the order of their names, nulls first."""
    windows: dict[int, list[Row]] = defaultdict(list)
    for row in stop_activity(scans):
        windows[row["window_start"]].append(row)
    return [
        {"window_start": row["window_start"], "window_end": row["window_end"], "rank": rank}
        | {column: row[column] for column in (*STOP, "scan_count")}
        for rows in windows.values()
        for rank, row in enumerate(sorted(rows, key=_leaderboard_order)[:LEADERBOARD_SIZE], start=1)
    ]


def _leaderboard_order(row: Row) -> tuple[object, ...]:
    """Text compares by code point, which is also the order of its UTF-8 bytes."""
    return -row["scan_count"], *((row[column] is not None, row[column] or "") for column in STOP)


def carrier_throughput(scans: Iterable[Row]) -> list[Row]:
    """Scans per clock hour (UTC), carrier and status; a null is a value like any other."""
    counts = Counter((scan["occurred_at"] // HOUR * HOUR, scan["carrier_code"], scan["status_code"]) for scan in scans)
    return [
        {
            "window_start": window_start,
            "window_end": window_start + HOUR,
            "carrier_code": carrier_code,
            "status_code": status_code,
            "scan_count": scan_count,
        }
        for (window_start, carrier_code, status_code), scan_count in counts.items()
    ]


def failed_delivery_alerts(scans: Iterable[Row]) -> list[Row]:
    """One row per package and time of a failed delivery that has at least three in the hour `(time - 1 h, time]`."""
    failures: dict[int, list[int]] = defaultdict(list)
    for scan in scans:
        if scan["status_code"] == "DF":
            failures[scan["tracking_number"]].append(scan["occurred_at"])
    return [alert for package, times in failures.items() for alert in _alerts(package, sorted(times))]


def _alerts(package: int, times: list[int]) -> Iterator[Row]:
    for occurred_at in dict.fromkeys(times):
        in_hour = times[bisect_right(times, occurred_at - HOUR) : bisect_right(times, occurred_at)]
        if len(in_hour) >= ALERT_COUNT:
            yield {
                "tracking_number": package,
                "occurred_at": occurred_at,
                "failure_count": len(in_hour),
                "first_failed_at": in_hour[0],
            }
