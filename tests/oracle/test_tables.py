from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.oracle import expected_tables
from tests.oracle.makers import at, route, scan, withdrawal
from tests.oracle.records import LogRecord


def columns(table: str, names: str, *records: LogRecord) -> list[tuple[Any, ...]]:
    """The named columns of a table's rows, in the order of the rows' values with nulls first."""
    rows = (tuple(row[name] for name in names.split()) for row in expected_tables(records)[table])
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])


def report(*records: LogRecord) -> dict[str, Any]:
    (row,) = expected_tables(records)["gold.remaining_stops"]
    return row


def at_places(*places: str, clock: str = "10:00") -> Iterable[LogRecord]:
    return (scan(package, clock, place=place, offset=package) for package, place in enumerate(places, start=1))


def test_an_empty_log_makes_empty_tables() -> None:
    tables = expected_tables([])
    assert {row["read_count"] for row in tables.pop("counts")} == {0}
    assert not any(tables.values())


def test_of_equal_scans_the_one_with_the_lowest_offset_is_kept() -> None:
    records = [
        scan(offset=8, description="again"),
        scan(offset=2, description="first"),
        scan(offset=900, logged="11:00"),
    ]
    assert columns("silver.ship_events", "kafka_offset status_description", *records) == [(2, "first")]


def test_of_equal_scans_in_two_partitions_the_one_in_the_lower_partition_is_kept() -> None:
    assert columns("silver.ship_events", "kafka_offset", scan(partition=1, offset=0), scan(offset=5)) == [(5,)]


def test_null_status_codes_are_equal_in_a_scans_identity() -> None:
    assert columns("silver.ship_events", "kafka_offset", scan(offset=1, status=""), scan(offset=2, status="")) == [(1,)]


def test_scans_that_differ_in_any_part_of_their_identity_are_distinct() -> None:
    records = [
        scan(offset=0),
        scan(43, offset=1),
        scan(clock="10:00:00.000001", offset=2),
        scan(code="OTHER", offset=3),
        scan(status="OD", offset=4),
        scan(stop=4, offset=5),
    ]
    assert len(expected_tables(records)["silver.ship_events"]) == len(records)


def test_equal_routes_are_two_versions() -> None:
    assert columns("silver.ship_routes", "kafka_offset", route(offset=1), route(offset=2)) == [(1,), (2,)]


def test_a_rejected_record_keeps_its_bytes_headers_and_coordinates() -> None:
    record = replace(scan(offset=4, partition=1), value=b"\xff", headers=(("trace", None), ("trace", b"\x00")))
    assert expected_tables([record])["silver.quarantine"] == [
        {
            "reason": "not_utf8",
            "key": b"42",
            "value": b"\xff",
            "headers": (("trace", None), ("trace", b"\x00")),
            "kafka_topic": "ship-events",
            "kafka_partition": 1,
            "kafka_offset": 4,
            "kafka_timestamp": at("10:00"),
        }
    ]


def test_every_record_read_is_accepted_duplicate_or_quarantined() -> None:
    records = [scan(offset=0), scan(offset=1), replace(scan(offset=2), value=None), route(offset=0)]
    counts = "topic read_count accepted_count duplicate_count quarantined_count"
    assert columns("counts", counts, *records) == [("ship-events", 3, 1, 1, 1), ("ship-routes", 1, 1, 0, 0)]


def test_the_order_in_which_records_arrive_does_not_matter() -> None:
    records = [scan(offset=0), scan(offset=1), scan(stop=4, offset=2), route(offset=0), withdrawal(43, offset=1)]
    assert expected_tables(records) == expected_tables(reversed(records))


def test_formats_are_set_per_topic() -> None:
    json_route = replace(route(offset=0), value=b'{"routeId": 7, "trackingNumber": 42, "endStopId": 12}')
    tables = expected_tables([scan(offset=0, stop=3), json_route], ship_routes_format="json")
    assert tables["gold.remaining_stops"][0]["number_of_remaining_stops"] == 9


def test_remaining_stops_are_from_the_current_stop_to_the_end_of_the_route() -> None:
    record = scan(stop=3, offset=5, partition=1)
    assert report(record, route(end=12, route_id=7, offset=2, partition=1)) == {
        "tracking_number": 42,
        "occurred_at": at("10:00"),
        "number_of_remaining_stops": 9,
        "current_stop_id": 3,
        "end_stop_id": 12,
        "route_id": 7,
        "event_code": "SCAN",
        "status_code": "IT",
        "status_description": None,
        "carrier_code": "UPS",
        "country": "US",
        "state": "NY",
        "city": "New York",
        "postal_code": "10001",
        "event_kafka_partition": 1,
        "event_kafka_offset": 5,
        "event_kafka_timestamp": at("10:00"),
        "route_kafka_partition": 1,
        "route_kafka_offset": 2,
        "route_kafka_timestamp": at("09:00"),
    }


def test_a_package_without_route_or_without_scan_has_no_number() -> None:
    assert report(scan(offset=0))["number_of_remaining_stops"] is None
    row = report(route(end=12, offset=0))
    assert (row["number_of_remaining_stops"], row["end_stop_id"], row["occurred_at"]) == (None, 12, None)


def test_a_scan_logged_late_does_not_replace_a_later_one() -> None:
    assert report(scan(clock="11:00", stop=5, offset=0), scan(clock="10:00", stop=4, offset=1))["current_stop_id"] == 5


def test_of_scans_of_one_moment_the_later_stop_counts_then_the_delivery_then_the_log() -> None:
    by_stop = scan(stop=5, code="NEW", offset=0), scan(stop=4, status="DL", logged="10:02", offset=1)
    by_delivery = scan(status="DL", code="NEW", offset=0), scan(status="RT", logged="10:02", offset=1)
    by_timestamp = scan(code="NEW", logged="10:02", offset=0), scan(status="", logged="10:01", offset=1)
    by_partition = scan(code="NEW", partition=1, offset=0), scan(offset=1)
    by_offset = scan(offset=0), scan(code="NEW", offset=1)
    for records in (by_stop, by_delivery, by_timestamp, by_partition, by_offset):
        assert report(*records)["event_code"] == "NEW", records


def test_the_route_with_the_greatest_kafka_timestamp_is_in_force() -> None:
    assert report(route(end=12, logged="09:30", offset=0), route(end=9, logged="09:00", offset=1))["end_stop_id"] == 12
    assert report(route(end=12, partition=1, offset=0), route(end=9, offset=1))["end_stop_id"] == 12
    assert report(route(end=12, offset=0), route(end=9, offset=1))["end_stop_id"] == 9


def test_a_withdrawn_route_leaves_none_but_its_own_coordinates() -> None:
    row = report(scan(offset=0), route(offset=0), withdrawal(offset=1))
    assert (row["number_of_remaining_stops"], row["route_id"], row["end_stop_id"]) == (None, None, None)
    assert row["route_kafka_offset"] == 1


def test_a_route_after_a_withdrawal_is_in_force() -> None:
    assert report(withdrawal(offset=0), route(end=9, offset=1))["end_stop_id"] == 9


def test_a_scan_is_in_the_two_windows_that_contain_it() -> None:
    names = "window_start window_end scan_count"
    edge, within = scan(clock="10:05", offset=0), scan(clock="10:09:59.999999", offset=1)
    windows = [(at("10:00"), at("10:10")), (at("10:05"), at("10:15"))]
    assert columns("gold.stop_activity", names, edge) == [(*window, 1) for window in windows]
    assert columns("gold.stop_activity", names, edge, within) == [(*window, 2) for window in windows]


def test_a_scan_before_the_epoch_is_in_the_windows_that_contain_it() -> None:
    value = b"42,1969-12-31T23:59:59.999999,SCAN,,,,,,,,3"
    record = replace(scan(offset=0), value=value, timestamp_ms=0)
    minute = 60_000_000
    windows = [(-10 * minute, 0), (-5 * minute, 5 * minute)]
    assert columns("gold.stop_activity", "window_start window_end", record) == windows
    assert columns("gold.carrier_throughput", "window_start window_end", record) == [(-60 * minute, 0)]


def test_deliveries_and_failures_are_counted_beside_scans() -> None:
    records = [scan(offset=offset, status=status) for offset, status in enumerate(["IT", "DL", "DF", ""])]
    records.append(scan(43, offset=9, status="DL"))
    counts = columns("gold.stop_activity", "scan_count delivered_count failed_count", *records)
    assert counts == [(5, 2, 1), (5, 2, 1)]


def test_a_stop_with_nulls_is_a_stop_of_its_own() -> None:
    records = at_places(",,,", ",,,", "US,,,", "US,NY,,")
    stops = columns("gold.stop_activity", "country state scan_count", *records)
    assert stops == [row for row in [(None, None, 2), ("US", None, 1), ("US", "NY", 1)] for _ in range(2)]


def test_the_leaderboard_breaks_ties_by_name_with_nulls_first() -> None:
    records = at_places("US,,b,", "US,,b,", "US,,,", "US,,a,", "US,,é,", "US,,Z,", ",,z,")
    rows = columns("gold.busiest_stops", "window_start rank scan_count country city", *records)
    ranked = [("US", "b"), (None, "z"), ("US", None), ("US", "Z"), ("US", "a"), ("US", "é")]
    assert [row[3:] for row in rows if row[0] == at("10:00")] == ranked


def test_the_leaderboard_has_ten_places() -> None:
    records = at_places(*(f"US,,{city},{code}" for code, city in enumerate("lkjihgfedcba")))
    rows = columns("gold.busiest_stops", "window_start rank city", *records)
    assert [row[1:] for row in rows if row[0] == at("09:55")] == list(enumerate("abcdefghij", start=1))


def test_throughput_is_per_hour_carrier_and_status() -> None:
    records = [
        scan(clock="10:00", offset=0),
        scan(clock="10:59:59.999999", offset=1),
        scan(clock="11:00", offset=2),
        scan(clock="10:30", carrier="", status="", offset=3),
    ]
    assert columns(
        "gold.carrier_throughput", "window_start window_end carrier_code status_code scan_count", *records
    ) == [
        (at("10:00"), at("11:00"), None, None, 1),
        (at("10:00"), at("11:00"), "UPS", "IT", 2),
        (at("11:00"), at("12:00"), "UPS", "IT", 1),
    ]


def alerts(*clocks: str) -> list[tuple[Any, ...]]:
    records = [scan(clock=clock, status="DF", stop=offset, offset=offset) for offset, clock in enumerate(clocks)]
    names = "tracking_number occurred_at failure_count first_failed_at"
    return columns("gold.failed_delivery_alerts", names, *records)


def test_the_third_failed_delivery_within_an_hour_is_an_alert() -> None:
    assert alerts("10:00", "10:30") == []
    assert alerts("10:00", "10:30", "10:59") == [(42, at("10:59"), 3, at("10:00"))]


def test_a_failure_exactly_an_hour_ago_counts_no_more() -> None:
    assert alerts("10:00", "10:30", "11:00") == []
    assert alerts("10:00:00.000001", "10:30", "11:00") == [(42, at("11:00"), 3, at("10:00:00.000001"))]


def test_a_late_failure_changes_the_alerts_that_follow_it() -> None:
    assert alerts("10:20", "10:40", "10:50", "10:10") == [
        (42, at("10:40"), 3, at("10:10")),
        (42, at("10:50"), 4, at("10:10")),
    ]


def test_failures_at_the_same_time_make_one_alert_that_counts_them_all() -> None:
    assert alerts("10:00", "10:00", "10:00") == [(42, at("10:00"), 3, at("10:00"))]


def test_duplicates_other_packages_and_other_statuses_raise_no_alert() -> None:
    records = [
        scan(clock="10:00", status="DF", offset=0),
        scan(clock="10:00", status="DF", offset=1),
        scan(clock="10:10", status="DF", offset=2),
        scan(clock="10:20", status="EX", offset=3),
        scan(43, clock="10:30", status="DF", offset=4),
    ]
    assert expected_tables(records)["gold.failed_delivery_alerts"] == []
