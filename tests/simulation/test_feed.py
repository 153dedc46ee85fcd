"""The feed is the same everywhere, and has everything in it that the pipeline must withstand."""

import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from itertools import islice

import pytest

from pipelines.contracts.rules import Reason, Status
from pipelines.simulation.feed import Record, feed
from pipelines.simulation.units import DAY_MS, HOUR_MS, MINUTE_MS
from pipelines.simulation.world import PLACES
from pipelines.wire_format import WireFormat
from tests.oracle.judge import Row, judge
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 1, tzinfo=UTC)
PACKAGES = 1_700
REASONS = set(Reason) - {Reason.BAD_TIMESTAMP}
"""The embedded broker takes no record with a time that no table could hold."""

ROUTE_REASONS = REASONS - {Reason.FROM_THE_FUTURE, Reason.TOO_LATE}

DIGEST = "80093e3c306a4961b6640f5b98a3184ba59de805bd271b33fa2c66ef71ce054c"
"""Of the first 50,000 records of seed 42. Whoever changes the feed changes this too, and says so in the changelog."""


def digest(records: Iterable[Record]) -> str:
    sha = hashlib.sha256()
    for record in records:
        sha.update(repr(tuple(record)).encode())
    return sha.hexdigest()


@cache
def whole_feed(wire_format: WireFormat) -> tuple[Record, ...]:
    return tuple(feed(42, PACKAGES, START, wire_format, wire_format))


@cache
def judged(wire_format: WireFormat) -> tuple[tuple[Record, Row | str], ...]:
    """Each record with the row that it makes, or the reason to refuse it, as the tests' oracle sees it."""
    return tuple((record, verdict(record, at, wire_format)) for at, record in enumerate(whole_feed(wire_format)))


def verdict(record: Record, offset: int, wire_format: WireFormat) -> Row | str:
    try:
        return judge(LogRecord(record.topic, 0, offset, record.timestamp_ms, record.key, record.value), wire_format)
    except RejectedError as error:
        return error.reason


def accepted(topic: str) -> list[Row]:
    return [row for record, row in judged("csv") if record.topic == topic and not isinstance(row, str)]


def test_the_first_records_are_those_of_every_machine() -> None:
    assert digest(islice(feed(42, PACKAGES, START), 50_000)) == DIGEST


def test_neither_hash_seed_nor_time_zone_nor_locale_changes_a_byte() -> None:
    program = (
        "from datetime import datetime, UTC; from itertools import islice\n"
        "from pipelines.simulation.feed import feed\n"
        "from tests.simulation.test_feed import START, PACKAGES, digest\n"
        "print(digest(islice(feed(42, PACKAGES, START), 50_000)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    other = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(islice(feed(42, PACKAGES, START), 50_000))


def test_another_seed_is_another_feed() -> None:
    assert digest(feed(1, 20, START)) != digest(feed(2, 20, START))


def test_a_package_does_not_depend_on_how_many_others_there_are() -> None:
    few, many = ([record for record in feed(42, packages, START) if record.key == b"7"] for packages in (10, 100))
    assert few == many


def test_records_are_in_the_order_of_their_timestamps_and_within_six_weeks() -> None:
    timestamps = [record.timestamp_ms for record in whole_feed("csv")]
    assert timestamps == sorted(timestamps)
    assert timestamps[0] >= START.timestamp() * 1000
    assert timestamps[-1] - timestamps[0] < 42 * DAY_MS


@pytest.mark.parametrize("wire_format", ["csv", "json"])
def test_every_reason_of_the_quarantine_occurs_in_both_topics_and_hits_few_records(wire_format: WireFormat) -> None:
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for record, row in judged(wire_format):
        if isinstance(row, str):
            reasons[record.topic][row] += 1
    assert set(reasons["ship-events"]) == REASONS
    assert set(reasons["ship-routes"]) == ROUTE_REASONS
    assert sum(reasons["ship-events"].values()) < 0.04 * len(whole_feed(wire_format))


def test_both_formats_tell_the_same_story() -> None:
    def story(wire_format: WireFormat) -> list[tuple[str, bytes | None, int]]:
        return [(record.topic, record.key, record.timestamp_ms) for record in whole_feed(wire_format)]

    assert story("csv") == story("json")


def test_every_status_occurs_and_one_that_the_contract_does_not_know() -> None:
    codes = {row["status_code"] for row in accepted("ship-events")}
    assert codes == {*Status, "CU", None}


def test_quoting_is_needed_for_commas_quotes_and_line_breaks() -> None:
    texts = {row["status_description"] or "" for row in accepted("ship-events")}
    assert all(any(mark in text for text in texts) for mark in (",", '"', "\n"))
    assert {row["city"] for row in accepted("ship-events")} == {place.city for place in PLACES} | {None}


def test_every_optional_field_is_sometimes_null() -> None:
    optional = ("status_code", "status_description", "carrier_code", "country", "state", "city", "postal_code")
    assert all(any(row[column] is None for row in accepted("ship-events")) for column in optional)


def test_the_same_bytes_come_again_at_once_and_hours_later() -> None:
    first: dict[tuple[str, bytes], Record] = {}
    distances = []
    for record, row in judged("csv"):
        if record.value and not isinstance(row, str):
            earlier = first.setdefault((record.topic, record.value), record)
            if earlier is not record:
                distances.append(record.timestamp_ms - earlier.timestamp_ms)
    assert any(distance <= 5_000 for distance in distances)
    assert any(distance > DAY_MS for distance in distances)


def test_scans_come_late_and_out_of_order() -> None:
    scans = accepted("ship-events")
    lateness_ms = [(row["kafka_timestamp"] - row["occurred_at"]) // 1000 for row in scans]
    assert any(10 * MINUTE_MS < late < HOUR_MS for late in lateness_ms)
    assert any(late > DAY_MS for late in lateness_ms)
    newest: dict[int, int] = {}
    overtaken = 0
    for row in scans:
        number = row["tracking_number"]
        overtaken += row["occurred_at"] < newest.get(number, 0)
        newest[number] = max(newest.get(number, 0), row["occurred_at"])
    assert 0.01 * len(scans) < overtaken < 0.05 * len(scans)


def test_packages_are_rerouted_and_withdrawn_and_some_are_scanned_before_their_route() -> None:
    routes = defaultdict(list)
    for row in accepted("ship-routes"):
        routes[row["tracking_number"]].append(row)
    first_scan = {row["tracking_number"]: row for row in reversed(accepted("ship-events"))}
    assert any(len({row["end_stop_id"] for row in versions}) > 1 for versions in routes.values())
    assert any(versions[-1]["is_withdrawn"] for versions in routes.values())
    assert any(first_scan[n]["kafka_timestamp"] < versions[0]["kafka_timestamp"] for n, versions in routes.items())


def test_every_package_reaches_the_end_of_its_route_unless_it_is_withdrawn() -> None:
    end = {row["tracking_number"]: row["end_stop_id"] for row in accepted("ship-routes")}
    latest: dict[int, Row] = {}
    for row in accepted("ship-events"):
        if row["occurred_at"] >= latest.get(row["tracking_number"], row)["occurred_at"]:
            latest[row["tracking_number"]] = row
    assert set(latest) == set(end) == set(range(1, PACKAGES + 1))
    remaining = Counter(end[n] - row["current_stop_id"] for n, row in latest.items() if end[n] is not None)
    assert set(remaining) == {0}


def test_three_deliveries_sometimes_fail_within_an_hour() -> None:
    failures = defaultdict(set)
    for row in accepted("ship-events"):
        if row["status_code"] == Status.DELIVERY_FAILED:
            failures[row["tracking_number"]].add(row["occurred_at"])
    spans = [max(times) - min(times) for times in failures.values() if len(times) == 3]
    assert any(span < HOUR_MS * 1000 for span in spans)
    assert any(span > DAY_MS * 1000 for span in spans)
