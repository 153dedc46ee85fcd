"""Gold tables that do not follow from silver."""

from tests.checks.verify_defects.planting import Defect, again, change, drop
from tests.healthy_lake import HealthyLake
from tests.oracle.makers import at

BOARD = {"window_start": at("11:00")}
ALERT = {"occurred_at": at("10:30")}


def _forgotten_expiry(lake: HealthyLake) -> None:
    for row in lake.ledger:
        for state in row["tables"]:
            state["expired_before"] = None


OF_REPORTS = (
    Defect(
        "a package has no report",
        "reports_are_of_all_packages",
        "silver asks for 1 reports of package 45 (example: ship-events/1@17), but gold.remaining_stops has 0.",
        drop("gold.remaining_stops", tracking_number=45),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a package with a route alone has no report",
        "reports_are_of_all_packages",
        "silver asks for 1 reports of package 46 (example: ship-routes/0@4), but gold.remaining_stops has 0.",
        drop("gold.remaining_stops", tracking_number=46),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report that was removed is in no archive",
        "reports_are_of_all_packages",
        "silver asks for 1 reports of package 44 (example: ship-events/1@3), but gold.remaining_stops has 0.",
        drop("ops.expired_reports", tracking_number=44),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report is of a package that nobody named",
        "reports_are_of_all_packages",
        "silver asks for 0 reports of package 99 (example: ship-events/0@6), but gold.remaining_stops has 1.",
        again("gold.remaining_stops", {"tracking_number": 99}, tracking_number=42),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a package has two reports",
        "reports_are_of_all_packages",
        "silver asks for 1 reports of package 42 (example: ship-events/0@6), but gold.remaining_stops has 2.",
        again("gold.remaining_stops", tracking_number=42),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report is of an earlier scan",
        "reports_show_the_latest_scan",
        "the latest scan of package 42 is ship-events/0@6, but gold.remaining_stops reports ship-events/0@5.",
        change("gold.remaining_stops", {"event_kafka_offset": 5}, tracking_number=42),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report in the archive is of no scan",
        "reports_show_the_latest_scan",
        "the latest scan of package 44 is ship-events/1@3, but ops.expired_reports reports none.",
        change("ops.expired_reports", {"event_kafka_partition": None, "event_kafka_offset": None}, tracking_number=44),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report has another place than its scan",
        "reports_say_what_their_records_say",
        "the report of package 42 in gold.remaining_stops says something else than scan ship-events/0@6 and route "
        "record ship-routes/0@0, from which it comes.",
        change("gold.remaining_stops", {"country": "DE"}, tracking_number=42),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report counts other stops than those between its scan and its route",
        "reports_say_what_their_records_say",
        "the report of package 42 in gold.remaining_stops says something else than scan ship-events/0@6 and route "
        "record ship-routes/0@0, from which it comes.",
        change("gold.remaining_stops", {"number_of_remaining_stops": 1}, tracking_number=42),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report in the archive has another route than its record",
        "reports_say_what_their_records_say",
        "the report of package 44 in ops.expired_reports says something else than scan ship-events/1@3 and route "
        "record none, from which it comes.",
        change("ops.expired_reports", {"route_id": 9}, tracking_number=44),
        rebuild="gold.remaining_stops",
    ),
    Defect(
        "a report is of a route that was withdrawn since",
        "reports_show_the_last_route",
        "the last route record of package 43 is ship-routes/0@3, but gold.remaining_stops reports ship-routes/0@1.",
        change("gold.remaining_stops", {"route_kafka_offset": 1}, tracking_number=43),
        rebuild="gold.remaining_stops",
    ),
)

OF_WINDOWS = (
    Defect(
        "a window is missing",
        "stop_activity_counts_every_scan",
        "of the stop US NY, silver.ship_events has 1, 0, 1 scans (all, delivered, failed) in the window "
        "from 2026-03-01T10:15:00.000000Z (example: ship-events/0@1), but gold.stop_activity counts 0, 0, 0.",
        drop("gold.stop_activity", window_start=at("10:15")),
        rebuild="gold.stop_activity",
    ),
    Defect(
        "a window counts too much",
        "stop_activity_counts_every_scan",
        "of the stop US NY, silver.ship_events has 1, 0, 1 scans (all, delivered, failed) in the window "
        "from 2026-03-01T10:15:00.000000Z (example: ship-events/0@1), but gold.stop_activity counts 7, 0, 1.",
        change("gold.stop_activity", {"scan_count": 7}, window_start=at("10:15")),
        rebuild="gold.stop_activity",
    ),
    Defect(
        "a window has no scan in silver",
        "stop_activity_counts_every_scan",
        "of the stop US NY, silver.ship_events has 0, 0, 0 scans (all, delivered, failed) in the window "
        "from 2026-03-01T09:30:00.000000Z (example: none), but gold.stop_activity counts 1, 0, 1.",
        again(
            "gold.stop_activity",
            {"window_start": at("09:30"), "window_end": at("09:40")},
            window_start=at("10:15"),
        ),
        rebuild="gold.stop_activity",
    ),
    Defect(
        "windows were removed without a word in the ledger",
        "stop_activity_counts_every_scan",
        "of the stop US NY, silver.ship_events has 1, 0, 1 scans (all, delivered, failed) in the window "
        "from 2026-03-01T06:55:00.000000Z (example: ship-events/1@0), but gold.stop_activity counts 0, 0, 0.",
        _forgotten_expiry,
        rebuild="gold.stop_activity",
    ),
    Defect(
        "a window counts a stop that was not scanned",
        "stop_activity_counts_every_scan",
        "of the stop DE NY, silver.ship_events has 0, 0, 0 scans (all, delivered, failed) in the window "
        "from 2026-03-01T10:15:00.000000Z (example: none), but gold.stop_activity counts 1, 0, 1.",
        change("gold.stop_activity", {"country": "DE"}, window_start=at("10:15")),
        rebuild="gold.stop_activity",
    ),
    Defect(
        "a board lacks a rank",
        "busiest_stops_fill_the_board",
        "the window from 2026-03-01T11:00:00.000000Z should have 10 busiest stops by gold.stop_activity, but "
        "gold.busiest_stops has the ranks 1, 2, 3, 4, 5, 6, 7, 8, 9.",
        drop("gold.busiest_stops", **BOARD, rank=10),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "a board has a rank twice",
        "busiest_stops_fill_the_board",
        "the window from 2026-03-01T10:15:00.000000Z should have 1 busiest stops by gold.stop_activity, but "
        "gold.busiest_stops has the ranks 1, 1.",
        again("gold.busiest_stops", window_start=at("10:15")),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "a window has no board",
        "busiest_stops_fill_the_board",
        "the window from 2026-03-01T10:15:00.000000Z should have 1 busiest stops by gold.stop_activity, but "
        "gold.busiest_stops has the ranks none.",
        drop("gold.busiest_stops", window_start=at("10:15")),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "a board is of no window",
        "busiest_stops_fill_the_board",
        "the window from 2026-03-01T09:30:00.000000Z should have 0 busiest stops by gold.stop_activity, but "
        "gold.busiest_stops has the ranks 1.",
        again(
            "gold.busiest_stops",
            {"window_start": at("09:30"), "window_end": at("09:40")},
            window_start=at("10:15"),
        ),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "a board shows another stop than its window",
        "busiest_stops_are_the_busiest",
        "place 3 of the window from 2026-03-01T11:00:00.000000Z is US NY with 1 scans by gold.stop_activity, "
        "but US NY with 1 scans in gold.busiest_stops.",
        change("gold.busiest_stops", {"city": "elsewhere"}, **BOARD, rank=3),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "a board has another count than its window",
        "busiest_stops_are_the_busiest",
        "place 3 of the window from 2026-03-01T11:00:00.000000Z is US NY with 1 scans by gold.stop_activity, "
        "but US NY with 8 scans in gold.busiest_stops.",
        change("gold.busiest_stops", {"scan_count": 8}, **BOARD, rank=3),
        rebuild="gold.busiest_stops",
    ),
    Defect(
        "an hour has a status that no scan has",
        "carrier_throughput_counts_every_scan",
        "silver.ship_events has 12 scans of carrier UPS with status IT in the hour from 2026-03-01T11:00:00.000000Z "
        "(example: ship-events/1@4), but gold.carrier_throughput counts 0.",
        change("gold.carrier_throughput", {"status_code": "XX"}, window_start=at("11:00"), status_code="IT"),
        rebuild="gold.carrier_throughput",
    ),
    Defect(
        "an hour counts too little",
        "carrier_throughput_counts_every_scan",
        "silver.ship_events has 12 scans of carrier UPS with status IT in the hour from 2026-03-01T11:00:00.000000Z "
        "(example: ship-events/1@4), but gold.carrier_throughput counts 11.",
        change("gold.carrier_throughput", {"scan_count": 11}, window_start=at("11:00"), status_code="IT"),
        rebuild="gold.carrier_throughput",
    ),
    Defect(
        "scans without a carrier are not counted",
        "carrier_throughput_counts_every_scan",
        "silver.ship_events has 1 scans of carrier none with status DF in the hour from 2026-03-01T10:00:00.000000Z "
        "(example: ship-events/0@5), but gold.carrier_throughput counts 0.",
        drop("gold.carrier_throughput", carrier_code=None),
        rebuild="gold.carrier_throughput",
    ),
    Defect(
        "an alert is missing",
        "failed_delivery_alerts_are_all_there",
        "package 42 has 3 failed deliveries from 2026-03-01T10:00:00.000000Z to 2026-03-01T10:30:00.000000Z (example: "
        "ship-events/0@5), but the alert in gold.failed_delivery_alerts counts none from none.",
        drop("gold.failed_delivery_alerts", **ALERT),
        rebuild="gold.failed_delivery_alerts",
    ),
    Defect(
        "an alert begins with another failure",
        "failed_delivery_alerts_are_all_there",
        "package 42 has 3 failed deliveries from 2026-03-01T10:00:00.000000Z to 2026-03-01T10:30:00.000000Z (example: "
        "ship-events/0@5), but the alert in gold.failed_delivery_alerts counts 3 from 2026-03-01T10:01:00.000000Z.",
        change("gold.failed_delivery_alerts", {"first_failed_at": at("10:01")}, **ALERT),
        rebuild="gold.failed_delivery_alerts",
    ),
    Defect(
        "an alert counts too much",
        "failed_delivery_alerts_are_all_there",
        "package 42 has 3 failed deliveries from 2026-03-01T10:00:00.000000Z to 2026-03-01T10:30:00.000000Z (example: "
        "ship-events/0@5), but the alert in gold.failed_delivery_alerts counts 4 from 2026-03-01T10:00:00.000000Z.",
        change("gold.failed_delivery_alerts", {"failure_count": 4}, **ALERT),
        rebuild="gold.failed_delivery_alerts",
    ),
    Defect(
        "an alert comes too early",
        "failed_delivery_alerts_are_all_there",
        "package 42 has 2 failed deliveries from 2026-03-01T10:00:00.000000Z to 2026-03-01T10:20:00.000000Z (example: "
        "ship-events/0@1), but the alert in gold.failed_delivery_alerts counts 3 from 2026-03-01T10:00:00.000000Z.",
        again("gold.failed_delivery_alerts", {"occurred_at": at("10:20")}, **ALERT),
        rebuild="gold.failed_delivery_alerts",
    ),
)
