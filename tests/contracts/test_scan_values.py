"""What a repeat says is read as the job reads it."""

from datetime import UTC, datetime

from pipelines.contracts.scan_values import told


def test_value_is_told_as_silver_would_have_it_in_both_formats() -> None:
    moment = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
    rest = {"event_code": "A", "carrier_code": None, "country": None, "state": None, "city": None, "postal_code": None}
    expected = {"tracking_number": 42, "occurred_at": moment, "current_stop_id": 3, "status_code": "IT", **rest}
    csv = b'42,2026-03-01 12:00:00.123456789+02:00,A,IT,"""a"", b",,,,,,+03\r\n'
    json = (
        b'{"trackingNumber": "042", "occurredAt": "2026-03-01T10:00:00.123456", "eventCode": "A", "statusCode": "IT",'
        b'"statusDescription": "", "currentStopId": 3, "more": [{}]}'
    )
    assert told(csv, "csv") == {**expected, "status_description": '"a", b'}
    assert told(json, "json") == {**expected, "status_description": ""}
