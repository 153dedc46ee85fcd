"""Bronze, silver and quarantine that do not hold what the ledger says."""

from tests.checks.verify_defects.planting import (
    EVENTS,
    FIRST,
    LAST,
    ROUTES,
    Defect,
    again,
    all_of,
    change,
    drop,
    ledger,
)

OF_RECORDS = (
    Defect(
        "a record is in bronze twice",
        "bronze_has_each_record_once",
        "bronze.ship_events has ship-events/0@0 of batch 0 2 times, expected once.",
        again("bronze.ship_events", **FIRST),
    ),
    Defect(
        "bronze has a record that no batch has read",
        "bronze_is_within_the_ledger",
        "bronze.ship_routes has ship-routes/0@99, which is in no range of the ledger up to batch 3.",
        again("bronze.ship_routes", {"kafka_offset": 99}, **FIRST),
    ),
    Defect(
        "bronze has a record of a later batch",
        "bronze_is_within_the_ledger",
        "bronze.ship_events has ship-events/0@7, which is in no range of the ledger up to batch 3.",
        again("bronze.ship_events", {"kafka_offset": 7}, **FIRST),
    ),
    Defect(
        "bronze lacks a record",
        "bronze_has_what_was_read",
        "batch 3 (from ship-events/1@17 on) read 1 records of ship-events, but bronze.ship_events has 0 of them.",
        drop("bronze.ship_events", **LAST),
    ),
    Defect(
        "a record is in silver twice",
        "silver_has_each_record_once",
        "silver.ship_routes has ship-routes/0@0 of batch 0 2 times, expected once.",
        again("silver.ship_routes", **FIRST),
    ),
    Defect(
        "a duplicate is in silver",
        "silver_has_each_scan_once",
        "silver.ship_events has a scan of package 42 at 2026-03-01T10:00:00.000000Z 2 times, expected once: "
        "ship-events/0@0 and ship-events/0@2 agree in all that tells one scan from another.",
        again("silver.ship_events", {"kafka_offset": 2}, **FIRST),
    ),
    Defect(
        "a duplicate without a status is in silver",
        "silver_has_each_scan_once",
        "silver.ship_events has a scan of package 45 at 2026-03-01T11:02:00.000000Z 2 times, expected once: "
        "ship-events/1@16 and ship-events/1@17 agree in all that tells one scan from another.",
        again("silver.ship_events", {"kafka_offset": 16}, **LAST),
    ),
    Defect(
        "silver has what bronze lacks",
        "silver_comes_from_bronze",
        "silver.ship_events has ship-events/0@4, but bronze.ship_events has no such record.",
        change("silver.ship_events", {"kafka_offset": 4}, kafka_partition=0, kafka_offset=5),
    ),
    Defect(
        "silver lacks a scan",
        "silver_has_what_was_accepted",
        "batch 1 (from ship-events/0@4 on) accepted 14 records of ship-events, but silver.ship_events has 13 of them.",
        drop("silver.ship_events", kafka_partition=0, kafka_offset=6),
    ),
    Defect(
        "silver lacks a route",
        "silver_has_what_was_accepted",
        "batch 0 (from ship-routes/0@0 on) accepted 2 records of ship-routes, but silver.ship_routes has 1 of them.",
        drop("silver.ship_routes", **FIRST),
    ),
    Defect(
        "a record is in quarantine twice",
        "quarantine_has_each_record_once",
        "silver.quarantine has ship-routes/0@2 of batch 0 2 times, expected once.",
        again("silver.quarantine", **ROUTES),
    ),
    Defect(
        "quarantine has what bronze lacks",
        "quarantine_comes_from_bronze",
        "silver.quarantine has ship-routes/0@77, but bronze.ship_routes has no such record.",
        change("silver.quarantine", {"kafka_offset": 77}, **ROUTES),
    ),
    Defect(
        "an accepted record is in quarantine, too",
        "quarantine_has_nothing_of_silver",
        "ship-events/0@6 of batch 1 is both in silver.quarantine and in silver.ship_events.",
        again("silver.quarantine", {"kafka_offset": 6}, **EVENTS),
    ),
    Defect(
        "quarantine lacks a record",
        "quarantine_has_what_was_rejected",
        "batch 0 (from ship-events/0@0 on) quarantined 1 records of ship-events, but silver.quarantine has 0 of them.",
        drop("silver.quarantine", **EVENTS),
    ),
    Defect(
        "a scan is taken for a duplicate that is the first of its package",
        "duplicates_tell_of_a_scan_before",
        "ship-events/1@17 of batch 3 is neither in silver nor in quarantine, but no scan of its package 45 has a lower "
        "offset in that partition (the lowest is none).",
        all_of(
            drop("silver.ship_events", **LAST),
            ledger(3, "counts", {"accepted_count": 0, "duplicate_count": 1}, **EVENTS),
        ),
    ),
    Defect(
        "of two equal scans the one with the greater offset is kept",
        "duplicates_tell_of_a_scan_before",
        "ship-events/0@0 of batch 0 is neither in silver nor in quarantine, but no scan of its package 42 has a lower "
        "offset in that partition (the lowest is 1).",
        change("silver.ship_events", {"kafka_offset": 2}, **FIRST),
    ),
    Defect(
        "a route is taken for a duplicate",
        "routes_have_no_duplicates",
        "ship-routes/0@3 of batch 3 is in bronze.ship_routes, but neither in silver.ship_routes nor in "
        "silver.quarantine.",
        all_of(
            drop("silver.ship_routes", kafka_offset=3),
            ledger(3, "counts", {"accepted_count": 1, "duplicate_count": 1}, **ROUTES),
        ),
    ),
)

IMPLIED = Defect(
    "the ledger counts more duplicates than there are",
    "duplicates_are_what_is_left",
    "batch 1 (from ship-events/0@4 on) counts 3 duplicates of ship-events, but 1 of its records are neither in silver "
    "nor in quarantine.",
    ledger(1, "counts", {"duplicate_count": 3}, **EVENTS),
)
"""Follows from the checks before it, which find this first: a second way to the same number, tested by itself."""
