"""What the topic package-reports says: each case is a report; all are written in one run."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.tables import GOLD_REMAINING_STOPS
from pipelines.transforms.package_reports import PACKAGE_REPORT_MESSAGES
from tests.oracle.gold import remaining_stops
from tests.oracle.judge import judge
from tests.oracle.makers import route, scan
from tests.oracle.records import LogRecord
from tests.rows import answer, arrow

SCANS = [
    scan(42, "10:00:00.000001", stop=3, status="OD", offset=5, partition=1, logged="10:01"),
    scan(43, stop=3, offset=6),
    scan(45, status="\x01" * 2_000_000, offset=7),
]
ROUTES = [route(42, end=12, offset=2, partition=1), route(44, end=9, offset=3)]


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    """Values by key."""

    def read(records: list[LogRecord]) -> list[dict[str, Any]]:
        return [judge(record, "csv") for record in records]

    reports = remaining_stops(read(SCANS), read(ROUTES))
    sent = answer(PACKAGE_REPORT_MESSAGES, reports=arrow(GOLD_REMAINING_STOPS, reports)).to_pylist()
    assert len(sent) == len(reports)
    return {row["key"]: row["value"] for row in sent}


def test_message_tells_the_report_and_the_coordinates_of_scan_and_route(messages: dict[str, str]) -> None:
    assert json.loads(messages["42"]) == {
        "trackingNumber": 42,
        "occurredAt": "2026-03-01T10:00:00.000001Z",
        "numberOfRemainingStops": 9,
        "currentStopId": 3,
        "endStopId": 12,
        "statusCode": "OD",
        "eventKafkaPartition": 1,
        "eventKafkaOffset": 5,
        "eventKafkaTimestamp": "2026-03-01T10:01:00.000000Z",
        "routeKafkaPartition": 1,
        "routeKafkaOffset": 2,
        "routeKafkaTimestamp": "2026-03-01T09:00:00.000000Z",
    }


def test_message_has_every_member_also_where_there_is_nothing_to_say(messages: dict[str, str]) -> None:
    assert {key: len(json.loads(value)) for key, value in messages.items()} == dict.fromkeys(messages, 12)
    assert json.loads(messages["43"])["endStopId"] is None
    assert json.loads(messages["44"])["occurredAt"] is None


def test_times_are_read_as_utc_by_any_reader(messages: dict[str, str]) -> None:
    moment = datetime.fromisoformat(json.loads(messages["42"])["occurredAt"])
    assert moment == datetime(2026, 3, 1, 10, 0, 0, 1, tzinfo=UTC)


def test_message_is_small_enough_for_any_producer_however_long_the_status_code_is(messages: dict[str, str]) -> None:
    assert json.loads(messages["45"])["statusCode"] == "\x01" * 1_000
    assert len(messages["45"]) < 10_000
