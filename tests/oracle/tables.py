"""Every table's expected rows. Times are microseconds since the epoch; the order of rows has no meaning."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from inspect import getmembers, isfunction, signature

from tests.oracle import gold
from tests.oracle.judge import Row, coordinates, judge
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError

SCAN_IDENTITY = ("tracking_number", "occurred_at", "event_code", "status_code", "current_stop_id")


@dataclass
class _Topic:
    """What became of one topic's records."""

    accepted: list[Row] = field(default_factory=list)
    quarantined: list[Row] = field(default_factory=list)
    duplicate_count: int = 0


def expected_tables(
    records: Iterable[LogRecord], ship_events_format: str = "csv", ship_routes_format: str = "csv"
) -> dict[str, list[Row]]:
    """The rows of every table that is a function of the log, by table name, whatever the order of `records`.

    Besides, `counts` has one row per topic: `topic`, `read_count`, `accepted_count`, `duplicate_count` and
    `quarantined_count`. Rows of `silver.quarantine` lack `detail`, which is prose.

    Args:
        records: all records of both topics; no (topic, partition, offset) occurs twice.
        ship_events_format: `csv` or `json`.
        ship_routes_format: `csv` or `json`.
    """
    formats = {"ship-events": ship_events_format, "ship-routes": ship_routes_format}
    topics = {name: _Topic() for name in formats}
    seen: set[tuple[object, ...]] = set()
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        topic = topics[record.topic]
        try:
            row = judge(record, formats[record.topic])
        except RejectedError as rejection:
            topic.quarantined.append(_quarantined(record, rejection.reason))
            continue
        if record.topic == "ship-events":
            identity = tuple(row[column] for column in SCAN_IDENTITY)
            if identity in seen:
                topic.duplicate_count += 1
                continue
            seen.add(identity)
        topic.accepted.append(row)
    scans, routes = topics["ship-events"].accepted, topics["ship-routes"].accepted
    return {
        "silver.ship_events": scans,
        "silver.ship_routes": routes,
        "silver.quarantine": [row for topic in topics.values() for row in topic.quarantined],
        **_gold_tables(scans=scans, routes=routes),
        "counts": [_counts(name, topic) for name, topic in topics.items()],
    }


def _gold_tables(**read: list[Row]) -> dict[str, list[Row]]:
    """What each public function of the module gives for those of these that it names as parameters, by its name."""
    found = {}
    for name, function in getmembers(gold, isfunction):
        if function.__module__ == gold.__name__ and not name.startswith("_"):
            found[f"gold.{name}"] = function(**{part: read[part] for part in signature(function).parameters})
    return found


def _quarantined(record: LogRecord, reason: str) -> Row:
    payload = {"reason": reason, "key": record.key, "value": record.value, "headers": record.headers}
    return {**payload, **coordinates(record)}


def _counts(name: str, topic: _Topic) -> Row:
    accepted, quarantined = len(topic.accepted), len(topic.quarantined)
    return {
        "topic": name,
        "read_count": accepted + topic.duplicate_count + quarantined,
        "accepted_count": accepted,
        "duplicate_count": topic.duplicate_count,
        "quarantined_count": quarantined,
    }
