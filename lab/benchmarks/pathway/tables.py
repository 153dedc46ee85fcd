"""Pathway's answer, run by a Python of its own: reads both topics up to their ends and writes JSON lines.

Each line of standard input is a request, `{"servers": …, "folder": …}`, as `lab.benchmarks.answering` has them.
"""

import csv
import json
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pathway as pw

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
FUTURE_MICROS = 10 * 60 * 1_000_000
LATE_MICROS = 7 * 86_400 * 1_000_000
PANE_MICROS = 5 * 60 * 1_000_000

Scan = tuple[str | None, int, int, str, str | None, str, str | None, str, str, str, str, int, int, int, int]
NO_SCAN = (0, 0, "", None, "", None, "", "", "", "", 0)


def _micros(text: str) -> int:
    """Since the epoch. Raises `ValueError` for what is no time."""
    if not MOMENT.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _integer(text: str) -> int:
    """Raises `ValueError` for what is no 64-bit integer."""
    if not WHOLE_NUMBER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise ValueError(text)
    return int(text)


def _fields(value: bytes) -> list[str]:
    """Raises `ValueError` for bytes that are not UTF-8, and for what is not one line of RFC 4180."""
    text = value.decode()
    if '"' not in text:
        return text.removesuffix("\n").removesuffix("\r").split(",")
    try:
        (fields,) = csv.reader([text], strict=True)
    except csv.Error as error:
        raise ValueError(text) from error
    return fields


@pw.udf(deterministic=True)
def judged_scan(key: bytes | None, value: bytes | None, metadata: pw.Json) -> Scan:
    """The first reason for which a record breaks the contract, the scan's fields, and its place on the log."""
    partition, offset = metadata["partition"].as_int(), metadata["offset"].as_int()
    appended_at = metadata["timestamp_millis"].as_int() * 1_000
    reason, fields = _scan(key, value, appended_at)
    return (reason, *fields, partition, offset, appended_at)


def _scan(key: bytes | None, value: bytes | None, appended_at: int) -> tuple[str | None, tuple[Any, ...]]:
    if not value:
        return "empty", NO_SCAN
    try:
        fields = _fields(value)
    except UnicodeDecodeError:
        return "not_utf8", NO_SCAN
    except ValueError:
        return "malformed", NO_SCAN
    if len(fields) != 11:
        return "malformed", NO_SCAN
    if not (fields[0] and fields[1] and fields[2] and fields[10]):
        return "missing_field", NO_SCAN
    try:
        package, occurred_at, stop = _integer(fields[0]), _micros(fields[1]), _integer(fields[10])
    except ValueError:
        return "bad_type", NO_SCAN
    if package <= 0 or stop < 0:
        return "out_of_range", NO_SCAN
    if key != str(package).encode():
        return "key_mismatch", NO_SCAN
    if occurred_at > appended_at + FUTURE_MICROS:
        return "from_the_future", NO_SCAN
    if occurred_at < appended_at - LATE_MICROS:
        return "too_late", NO_SCAN
    return None, (package, occurred_at, *fields[2:10], stop)


@pw.udf(deterministic=True)
def judged_route(
    key: bytes | None, value: bytes | None, metadata: pw.Json
) -> tuple[bool, int, int | None, int, int, int]:
    """Whether a record keeps the contract, its package, the route's last stop, and its place on the log."""
    place = tuple(metadata[name].as_int() for name in ("timestamp_millis", "partition", "offset"))
    try:
        package = _integer((key or b"").decode())
        if value is None:
            return (package > 0, package, None, *place)
        fields = _fields(value)
        end = _integer(fields[2])
        is_good = package > 0 and len(fields) == 3 and _integer(fields[1]) == package and end >= 0
    except (ValueError, IndexError):
        return (False, 0, None, *place)
    return (is_good, package, end, *place)


def build(servers: str, folder: Path) -> None:
    """Declares the tables and where they are written."""
    kafka = {
        "bootstrap.servers": servers,
        "group.id": folder.name,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }

    def topic(name: str) -> pw.Table:
        return pw.io.kafka.read(
            kafka, topic=name, mode="static", format="raw", autogenerate_key=True, with_metadata=True
        )

    events, routes = topic("ship-events"), topic("ship-routes")
    names = "reason tracking_number occurred_at event_code status_code status_description carrier_code country state"
    names += " city postal_code current_stop_id kafka_partition kafka_offset kafka_timestamp"
    judged = events.select(scan=judged_scan(pw.this.key, pw.this.data, pw.this._metadata))
    judged = judged.select(**{name: pw.this.scan[number] for number, name in enumerate(names.split())})
    rejected = judged.filter(pw.this.reason.is_not_none()).select(
        pw.this.reason, pw.this.kafka_partition, pw.this.kafka_offset, pw.this.kafka_timestamp
    )
    accepted = judged.filter(pw.this.reason.is_none())
    first = accepted.groupby(
        pw.this.tracking_number, pw.this.occurred_at, pw.this.event_code, pw.this.status_code, pw.this.current_stop_id
    ).reduce(row=pw.reducers.argmin(pw.this.kafka_offset))
    scans = accepted.ix(first.row).without(pw.this.reason)

    newest = scans.groupby(pw.this.tracking_number).reduce(
        row=pw.reducers.argmax(
            pw.make_tuple(pw.this.occurred_at, pw.this.kafka_timestamp, pw.this.kafka_partition, pw.this.kafka_offset)
        )
    )
    latest = scans.ix(newest.row)
    routed = routes.select(route=judged_route(pw.this.key, pw.this.data, pw.this._metadata))
    routed = routed.filter(pw.this.route[0]).select(
        tracking_number=pw.this.route[1],
        end_stop_id=pw.this.route[2],
        place=pw.make_tuple(pw.this.route[3], pw.this.route[4], pw.this.route[5]),
    )
    in_force = routed.ix(routed.groupby(pw.this.tracking_number).reduce(row=pw.reducers.argmax(pw.this.place)).row)
    reports = latest.join_outer(in_force, pw.left.tracking_number == pw.right.tracking_number).select(
        tracking_number=pw.coalesce(pw.left.tracking_number, pw.right.tracking_number),
        occurred_at=pw.left.occurred_at,
        current_stop_id=pw.left.current_stop_id,
        end_stop_id=pw.right.end_stop_id,
        status_code=pw.left.status_code,
        city=pw.left.city,
        kafka_partition=pw.left.kafka_partition,
        kafka_offset=pw.left.kafka_offset,
    )
    stop = (pw.this.country, pw.this.state, pw.this.city, pw.this.postal_code)
    panes = scans.select(*stop, pw.this.status_code, pane=pw.this.occurred_at // PANE_MICROS)
    windows = pw.Table.concat_reindex(panes, panes.with_columns(pane=pw.this.pane - 1))
    activity = windows.groupby(pw.this.pane, *stop).reduce(
        *stop,
        window_start=pw.this.pane * PANE_MICROS,
        scan_count=pw.reducers.count(),
        delivered_count=pw.reducers.sum(pw.cast(int, pw.coalesce(pw.this.status_code == "DL", False))),
        failed_count=pw.reducers.sum(pw.cast(int, pw.coalesce(pw.this.status_code == "DF", False))),
    )
    tables = {
        "silver_ship_events": scans,
        "silver_quarantine": rejected,
        "latest_report": reports,
        "stop_activity": activity,
    }
    for name, table in tables.items():
        pw.io.jsonlines.write(table, str(folder / f"{name}.jsonl"))


def main() -> None:
    for line in sys.stdin:
        began, request = time.monotonic(), json.loads(line)
        folder = Path(request["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        pw.internals.parse_graph.G.clear()
        build(request["servers"], folder)
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        sys.stdout.write(json.dumps({"answer": {"seconds": time.monotonic() - began}}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
