from dataclasses import replace

import pytest

from tests.oracle.judge import judge
from tests.oracle.makers import at, route, scan, withdrawal
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError


def verdict(record: LogRecord, wire_format: str = "csv") -> str:
    try:
        judge(record, wire_format)
    except RejectedError as rejection:
        return rejection.reason
    return "accepted"


def test_a_scan_becomes_a_row_of_silver_with_its_coordinates() -> None:
    record = scan(42, "10:00:00.123456", stop=3, partition=2, offset=9, logged="10:01", place="US,,Boston,")
    assert judge(record, "csv") == {
        "tracking_number": 42,
        "occurred_at": at("10:00:00.123456"),
        "event_code": "SCAN",
        "status_code": "IT",
        "status_description": None,
        "carrier_code": "UPS",
        "country": "US",
        "state": None,
        "city": "Boston",
        "postal_code": None,
        "current_stop_id": 3,
        "kafka_topic": "ship-events",
        "kafka_partition": 2,
        "kafka_offset": 9,
        "kafka_timestamp": at("10:01"),
    }


def test_a_withdrawal_becomes_a_route_version_without_route() -> None:
    assert judge(withdrawal(42, offset=5, logged="09:30"), "json") == {
        "route_id": None,
        "tracking_number": 42,
        "end_stop_id": None,
        "is_withdrawn": True,
        "kafka_topic": "ship-routes",
        "kafka_partition": 0,
        "kafka_offset": 5,
        "kafka_timestamp": at("09:30"),
    }


def test_a_route_in_json_is_the_same_row_as_in_csv() -> None:
    record = route(42, end=12, route_id=7, offset=1)
    in_json = replace(record, value=b'{"routeId": 7, "trackingNumber": "42", "endStopId": 12}')
    assert judge(in_json, "json") == judge(record, "csv")


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (b"", None, "empty"),
        (b'\xff"', None, "not_utf8"),
        (b'x"', None, "malformed"),
        (b",x,SCAN,,,,,,,,-1", None, "missing_field"),
        (b"0,x,SCAN,,,,,,,,-1", None, "bad_type"),
        (b"0,2027-01-01T00:00:00,SCAN,,,,,,,,3", None, "out_of_range"),
        (b"42,2027-01-01T00:00:00,SCAN,,,,,,,,-1", None, "out_of_range"),
        (b"42,2027-01-01T00:00:00,SCAN,,,,,,,,3", None, "key_mismatch"),
        (b"42,2027-01-01T00:00:00,SCAN,,,,,,,,3", b"42", "from_the_future"),
        (b"42,2025-01-01T00:00:00,SCAN,,,,,,,,3", b"42", "too_late"),
    ],
)
def test_the_first_reason_that_holds_is_the_verdict(value: bytes, key: bytes | None, reason: str) -> None:
    assert verdict(replace(scan(offset=0), value=value, key=key)) == reason


def test_a_scan_may_be_ten_minutes_ahead_of_the_log_and_no_more() -> None:
    assert verdict(scan(clock="10:10", logged="10:00", offset=0)) == "accepted"
    assert verdict(scan(clock="10:10:00.000001", logged="10:00", offset=0)) == "from_the_future"


def test_a_scan_may_be_seven_days_behind_the_log_and_no_more() -> None:
    record = scan(clock="10:00", offset=0)
    week_later = record.timestamp_ms + 7 * 24 * 3600 * 1000
    assert verdict(replace(record, timestamp_ms=week_later)) == "accepted"
    assert verdict(replace(record, timestamp_ms=week_later + 1)) == "too_late"


def test_a_scan_without_a_value_is_empty_and_a_route_without_one_is_withdrawn() -> None:
    assert verdict(replace(scan(offset=0), value=None)) == "empty"
    assert verdict(replace(route(offset=0), value=None)) == "accepted"
    assert verdict(replace(route(offset=0), value=b"")) == "empty"


def test_an_unknown_topic_is_an_error_not_a_verdict() -> None:
    with pytest.raises(ValueError, match="package-reports"):
        judge(replace(scan(offset=0), topic="package-reports"), "csv")
