"""How many stops remain, whatever the order in which scans and routes arrive.

Each case is one package's records, cut into up to three batches. All cases are folded in one run.
"""

import random
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.tables import GOLD_REMAINING_STOPS, SILVER_SHIP_EVENTS
from pipelines.transforms.distinct_scans import DISTINCT_SCANS
from pipelines.transforms.remaining_stops import REMAINING_STOPS
from pipelines.transforms.route_versions import ROUTE_VERSIONS
from tests.frames import in_order
from tests.oracle.makers import route, scan, withdrawal
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables
from tests.rows import answer, arrow, judged_events, judged_routes, plain

ROUNDS = 3
Batches = tuple[list[LogRecord], ...]

HOURS_LATE = scan(2, stop=2, clock="10:00", logged="12:30", offset=1)
TIES = {
    "occurred_at": (
        scan(20, stop=9, status="DL", logged="10:01", offset=9),
        scan(20, code="NEW", clock="10:00:00.000001", logged="10:00", offset=1),
    ),
    "current_stop_id": (
        scan(23, status="DL", logged="10:01", offset=9),
        scan(23, code="NEW", stop=4, logged="10:00", offset=1),
    ),
    "is_delivered": (
        scan(26, status="RT", logged="10:01", offset=9),
        scan(26, code="NEW", status="DL", logged="10:00", offset=1),
    ),
    "kafka_timestamp": (scan(30, logged="10:00", offset=9), scan(30, code="NEW", logged="10:01", offset=1)),
    "is_delivered where the status is not told": (
        scan(28, status="", logged="10:01", offset=9),
        scan(28, code="NEW", status="DL", logged="10:00", offset=1),
    ),
    "kafka_timestamp of two deliveries": (
        scan(33, status="DL", logged="10:00", offset=9),
        scan(33, code="NEW", status="DL", logged="10:01", offset=1),
    ),
    "kafka_timestamp where the status is not told": (
        scan(36, logged="10:00", offset=9),
        scan(36, code="NEW", status="", logged="10:01", offset=1),
    ),
    "kafka_partition": (scan(40, partition=0, offset=9), scan(40, code="NEW", partition=1, offset=1)),
    "kafka_offset": (scan(50, offset=1), scan(50, code="NEW", offset=9)),
    "kafka_timestamp of routes": (
        route(60, end=1, logged="10:00", offset=9),
        route(60, end=2, logged="10:01", offset=1),
    ),
    "kafka_partition of routes": (route(70, end=1, partition=0, offset=9), route(70, end=2, partition=1, offset=1)),
    "kafka_offset of routes": (route(80, end=1, offset=1), route(80, end=2, offset=9)),
}
"""Two records of a package, the lesser first: the greater has the code NEW, or ends at stop 2."""


def random_log(first_package: int) -> list[LogRecord]:
    dice = random.Random(7)
    records: list[LogRecord] = []
    for offset in range(300):
        package, clock = (
            first_package + dice.randrange(30),
            f"{dice.randrange(8, 12):02}:{dice.randrange(0, 60, 20):02}",
        )
        stop, end, status = dice.randrange(3), dice.randrange(9, 15), dice.choice(["", "OD", "DL"])
        records.append(
            dice.choice([
                scan(package, clock, logged="12:00", stop=stop, status=status, offset=offset),
                route(package, end, offset=offset, logged=clock),
                withdrawal(package, offset=offset, logged=clock),
            ])
        )  # fmt: skip
    return records


RANDOM = random_log(1000)
CASES: dict[str, Batches] = {
    "scan before its route": ([scan(1, stop=3, offset=0)], [route(1, end=12, offset=0)]),
    "late scan": ([scan(2, stop=5, clock="12:00", offset=0), route(2, end=12, offset=0)], [HOURS_LATE]),
    "scan alone": ([scan(3, stop=3, offset=0)],),
    "route alone": ([route(4, end=12, offset=0)],),
    "new route": ([scan(5, stop=3, offset=0), route(5, end=12, offset=0)], [route(5, end=8, offset=1, logged="09:30")]),
    "withdrawn": ([scan(6, stop=3, offset=0), route(6, end=12, offset=0)], [withdrawal(6, offset=1, logged="09:30")]),
    "withdrawn and routed again": (
        [scan(7, stop=3, offset=0), route(7, end=12, offset=0)],
        [withdrawal(7, offset=1, logged="09:30")],
        [route(7, end=7, offset=2, logged="09:40")],
    ),
    "older route later": (
        [scan(8, stop=3, offset=0), route(8, end=12, offset=0, logged="09:30")],
        [route(8, end=5, offset=1)],
    ),
    "only withdrawn": ([withdrawal(9, offset=0)],),
    **{f"{name}, lesser first": ([lesser], [greater]) for name, (lesser, greater) in TIES.items()},
    "random": (RANDOM[:77], RANDOM[77:150], RANDOM[150:]),
}
TOGETHER: dict[str, Batches] = {f"{name}, together": ([lesser, greater],) for name, (lesser, greater) in TIES.items()}
REVERSED: dict[str, Batches] = {
    f"{name}, greater first": ([greater], [lesser]) for name, (lesser, greater) in TIES.items()
}


def fold(batch: Iterable[LogRecord], current: pa.Table) -> pa.Table:
    """The reports that a batch changes."""
    events, routes = (
        [record for record in batch if record.topic == topic.name] for topic in (SHIP_EVENTS, SHIP_ROUTES)
    )
    scans = answer(DISTINCT_SCANS, records=judged_events(events), known=arrow(SILVER_SHIP_EVENTS))
    versions = answer(ROUTE_VERSIONS, records=judged_routes(routes))
    return answer(REMAINING_STOPS, new_scans=scans, new_routes=versions, current=current)


def folded(cases: dict[str, Batches]) -> tuple[list[pa.Table], pa.Table]:
    """The rows that each round changes, and the table after all rounds."""
    current, rounds = arrow(GOLD_REMAINING_STOPS), []
    for number in range(ROUNDS):
        batch = [record for batches in cases.values() for record in (batches[number] if number < len(batches) else [])]
        changed = fold(batch, current)
        merged = "FROM changed UNION ALL FROM current ANTI JOIN changed USING (tracking_number)"
        current = answer(merged, changed=changed, current=current)
        rounds.append(changed)
    return rounds, current


@pytest.fixture(scope="module")
def rounds() -> tuple[list[pa.Table], pa.Table]:
    return folded(CASES)


@pytest.fixture(scope="module")
def reports(rounds: tuple[list[pa.Table], pa.Table]) -> dict[int, dict[str, Any]]:
    return {row["tracking_number"]: row for row in plain(rounds[1])}


def test_scan_may_come_before_its_route(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[1]["number_of_remaining_stops"] == 9


def test_late_scan_does_not_take_the_report_back(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[2]["number_of_remaining_stops"] == 7


def test_report_needs_a_scan_and_a_route(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[3]["number_of_remaining_stops"] is None
    assert reports[4]["number_of_remaining_stops"] is None
    assert (reports[3]["current_stop_id"], reports[4]["end_stop_id"]) == (3, 12)


def test_new_route_changes_the_report_without_a_new_scan(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[5]["number_of_remaining_stops"] == 5


def test_withdrawn_route_leaves_none_but_its_coordinates(reports: dict[int, dict[str, Any]]) -> None:
    row = reports[6]
    assert (row["number_of_remaining_stops"], row["end_stop_id"], row["route_id"]) == (None, None, None)
    assert row["route_kafka_offset"] == 1


def test_route_after_a_withdrawal_is_in_force(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[7]["number_of_remaining_stops"] == 4


def test_route_with_an_older_timestamp_is_not_in_force(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[8]["number_of_remaining_stops"] == 9


def test_package_that_was_only_ever_withdrawn_has_a_report(reports: dict[int, dict[str, Any]]) -> None:
    assert reports[9]["route_kafka_offset"] == 0


def test_ties_are_broken_by_each_part_of_the_order(reports: dict[int, dict[str, Any]]) -> None:
    of_ties = {lesser.key for lesser, _ in TIES.values()}
    tables = [reports.values(), *(plain(folded(cases)[1]) for cases in (TOGETHER, REVERSED))]
    for rows in tables:
        found = [
            (row["event_code"], row["end_stop_id"]) for row in rows if str(row["tracking_number"]).encode() in of_ties
        ]
        assert sorted(found, key=repr) == [("NEW", None)] * 9 + [(None, 2)] * 3


def test_any_cut_of_a_random_log_gives_the_oracles_table(reports: dict[int, dict[str, Any]]) -> None:
    expected = expected_tables(RANDOM)["gold.remaining_stops"]
    assert in_order(row for package, row in reports.items() if package >= 1000) == in_order(expected)


def test_only_reports_that_change_are_rows_of_the_fold(rounds: tuple[list[pa.Table], pa.Table]) -> None:
    changed = [{row["tracking_number"] for row in plain(frame) if row["tracking_number"] < 20} for frame in rounds[0]]
    assert changed == [{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 5, 6, 7}, {7}]


def test_folding_a_batch_again_changes_nothing(rounds: tuple[list[pa.Table], pa.Table]) -> None:
    assert fold(RANDOM, rounds[1]).num_rows == 0
