"""A lake of which every expectation holds, and a defect for each that breaks no other."""

from dataclasses import dataclass

from pipelines.settings import Quality
from pipelines.tables import EXPECTED
from tests.checks.verify_defects.planting import EVENTS, FIRST, ROUTES, Plant, again, all_of, change, ledger
from tests.healthy_lake import HealthyLake, healthy_lake
from tests.oracle.makers import at

QUALITY = Quality(quarantined_share=0.2)
CHECKED_AT = at("12:10")
EARLIER, LET_GO = at("10:00", "2026-02-28"), at("08:00")
"""The newest whole hour a day before, and a time whose rows the window tables have removed."""


def sound_lake() -> HealthyLake:
    """The healthy lake, with an hour to compare the newest with, whose rows the table should have removed since."""
    lake = healthy_lake()
    again("gold.carrier_throughput", _hour(EARLIER) | {"scan_count": 4}, window_start=at("11:00"), status_code="IT")(
        lake
    )
    return lake


@dataclass(frozen=True)
class Defect:
    """Something wrong with a lake, by which one expectation is not met."""

    table: str
    expectation: str
    plant: Plant

    def __str__(self) -> str:
        return f"{self.table} {self.expectation}"


def _hour(start: int) -> dict[str, int]:
    return {"window_start": start, "window_end": start + 3_600_000_000}


def _window(start: int) -> dict[str, int]:
    return {"window_start": start, "window_end": start + 600_000_000}


def _twice(plant: Plant) -> Plant:
    return all_of(plant, plant)


def _all_commits(lake: HealthyLake) -> None:
    for row in lake.ledger:
        row["committed_at"] = at("08:00")


def _rejects(lake: HealthyLake) -> None:
    """Ten more, as the ledger says."""
    (row,) = (row for row in lake.tables["silver.quarantine"] if row["kafka_topic"] == "ship-events")
    lake.tables["silver.quarantine"] += [row | {"kafka_offset": 100 + number} for number in range(10)]
    ledger(1, "counts", {"read_count": 25, "quarantined_count": 10}, **EVENTS)(lake)


def _other_partition(lake: HealthyLake) -> None:
    """Of a package's earlier scan, as if another producer had sent it."""
    change("silver.ship_events", {"kafka_partition": 1}, tracking_number=42, kafka_offset=1)(lake)


REDRIVEN = {
    "redriven_at": at("12:00"),
    "reason": "empty",
    "detail": None,
    "new_reason": None,
    "kafka_topic": "ship-events",
    **FIRST,
    "kafka_timestamp": at("10:00"),
}


def _first_row_twice(table: str) -> Plant:
    def plant(lake: HealthyLake) -> None:
        lake.tables[table].append(lake.tables[table][0])

    return plant


TWO_OF_A_KEY = {table.name: _first_row_twice(table.name) for table in EXPECTED} | {
    "silver.ship_events": change("silver.ship_events", {"current_stop_id": 0}, tracking_number=43, current_stop_id=1),
    "silver.ship_routes": change("silver.ship_routes", {"kafka_offset": 0}, kafka_offset=1),
    "silver.quarantine": change(
        "silver.quarantine", {"kafka_topic": "ship-events", "kafka_offset": 3}, kafka_topic="ship-routes"
    ),
    "gold.remaining_stops": again("gold.remaining_stops", tracking_number=45),
    "gold.stop_activity": _twice(again("gold.stop_activity", _window(LET_GO), window_start=at("10:15"))),
    "gold.busiest_stops": _twice(again("gold.busiest_stops", _window(LET_GO), window_start=at("10:15"))),
    "gold.carrier_throughput": again("gold.carrier_throughput", window_start=EARLIER),
    "gold.failed_delivery_alerts": _twice(
        again("gold.failed_delivery_alerts", {"occurred_at": LET_GO}, occurred_at=at("10:30"))
    ),
    "ops.expired_reports": again("ops.expired_reports", tracking_number=44),
    "ops.redriven_records": _twice(lambda lake: lake.tables["ops.redriven_records"].append(REDRIVEN)),
    "ops.batches": again("ops.batches", batch_id=2),
}

DEFECTS = (
    *(Defect(table, "one_row_per_key", plant) for table, plant in TWO_OF_A_KEY.items()),
    Defect("ops.batches", "records_came_lately", _all_commits),
    Defect("silver.ship_events", "packages_are_in_one_partition", _other_partition),
    Defect(
        "silver.ship_events",
        "rows_are_those_counted",
        ledger(1, "counts", {"accepted_count": 15, "duplicate_count": 0}, **EVENTS),
    ),
    Defect(
        "silver.ship_routes",
        "rows_are_those_counted",
        ledger(3, "counts", {"accepted_count": 1, "duplicate_count": 1}, **ROUTES),
    ),
    Defect(
        "silver.quarantine",
        "rows_are_those_counted",
        ledger(1, "counts", {"quarantined_count": 1, "duplicate_count": 0}, **EVENTS),
    ),
    Defect("silver.quarantine", "quarantined_share", _rejects),
    Defect(
        "gold.remaining_stops",
        "negative_stops_share",
        change("gold.remaining_stops", {"number_of_remaining_stops": -1}, tracking_number=42),
    ),
    Defect(
        "gold.carrier_throughput",
        "volume_is_as_usual",
        change("gold.carrier_throughput", {"scan_count": 400}, window_start=EARLIER),
    ),
)
"""One for each expectation that is no claim of `pts verify`, whose defects are those of its own tests. Each breaks its
expectation and no other of these.
"""
