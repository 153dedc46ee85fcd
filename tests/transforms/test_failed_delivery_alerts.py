"""Which packages could not be delivered, again and again. Each case is a package; all are looked at in one run."""

from dataclasses import dataclass

import pytest

from pipelines.transforms.failed_delivery_alerts import FAILED_DELIVERY_ALERTS
from tests.oracle.makers import at, scan
from tests.oracle.records import LogRecord
from tests.rows import answer, plain
from tests.rows import scans as scan_rows

EVE = "1969-12-31"
Alerts = dict[str, dict[int, tuple[int, int]]]


@dataclass(frozen=True)
class Case:
    """When one package was scanned: a failed delivery, unless a status follows, as in `10:00 DL` and `10:00 none`."""

    new: tuple[str, ...]
    before: tuple[str, ...] = ()
    day: str = "2026-03-01"


CASES = {
    "third": Case(new=("10:40",), before=("10:00", "10:20")),
    "second": Case(new=("10:40",), before=("10:20",)),
    "all new": Case(new=("10:00", "10:20", "10:40")),
    "fourth": Case(new=("10:50",), before=("10:00", "10:20", "10:40")),
    "an hour ago": Case(new=("11:00",), before=("10:00", "10:30")),
    "a microsecond less": Case(new=("11:00",), before=("10:00:00.000001", "10:30")),
    "an hour ago, told between": Case(new=("10:30",), before=("10:00", "10:45", "11:00")),
    "same moment": Case(new=("10:00", "10:00", "10:00")),
    "four at one moment": Case(new=("10:00", "10:00", "10:00", "10:00")),
    "same moment, told later": Case(new=("10:00",), before=("10:00", "10:00", "10:30")),
    "late": Case(
        new=("10:00",), before=("09:40", "09:50", "09:59", "10:10", "10:20", "10:59:59.999999", "11:00", "11:01")
    ),
    "late and first": Case(new=("10:00",), before=("10:10", "10:59:59.999999")),
    "two late": Case(new=("10:00", "10:30"), before=("10:45", "11:15")),
    "far away": Case(new=("15:00",), before=("10:00", "10:20", "10:40")),
    "new with another status": Case(new=("10:40 EX", "10:45 none"), before=("10:00", "10:20", "10:30")),
    "before an alert, with another status": Case(new=("10:40 EX",), before=("10:00", "10:20", "10:50")),
    "among other statuses": Case(new=("10:40",), before=("10:00", "10:10 DL", "10:20 EX", "10:30 none", "10:35 df")),
    "with two failures": Case(new=("10:40",), before=("10:30",)),
    "with three failures": Case(new=(), before=("10:35", "10:36", "10:37")),
    "before the epoch": Case(new=("23:59:59.999999",), before=("22:59:59.999999", "23:00", "23:30"), day=EVE),
}


def scans(package: int, texts: tuple[str, ...], day: str, first_stop: int) -> list[LogRecord]:
    """Distinct also at one moment, for each is at a stop of its own."""
    made = []
    for stop, text in enumerate(texts, start=first_stop):
        clock, _, status = text.partition(" ")
        made.append(
            scan(package, clock, status={"": "DF", "none": ""}.get(status, status), stop=stop, offset=0, day=day)
        )
    return made


@pytest.fixture(scope="module")
def alerts() -> Alerts:
    """By case and moment: how many failures, and the first of them. No moment has two alerts."""
    packages = dict(enumerate(CASES, start=1))
    new = [record for n, name in packages.items() for record in scans(n, CASES[name].new, CASES[name].day, 0)]
    before = [record for n, name in packages.items() for record in scans(n, CASES[name].before, CASES[name].day, 10)]
    raised: Alerts = {name: {} for name in CASES}
    found = answer(FAILED_DELIVERY_ALERTS, new_scans=scan_rows(new), scans=scan_rows(new + before))
    for row in plain(found):
        of_case = raised[packages[row["tracking_number"]]]
        assert row["occurred_at"] not in of_case
        of_case[row["occurred_at"]] = (row["failure_count"], row["first_failed_at"])
    return raised


def test_third_failure_within_an_hour_is_an_alert(alerts: Alerts) -> None:
    assert alerts["third"] == {at("10:40"): (3, at("10:00"))}
    assert alerts["all new"] == {at("10:40"): (3, at("10:00"))}


def test_second_failure_is_none(alerts: Alerts) -> None:
    assert alerts["second"] == {}


def test_fourth_failure_is_an_alert_of_its_own_and_leaves_the_third_alone(alerts: Alerts) -> None:
    assert alerts["fourth"] == {at("10:50"): (4, at("10:00"))}


def test_failure_exactly_an_hour_ago_counts_no_more(alerts: Alerts) -> None:
    assert alerts["an hour ago"] == {}
    assert alerts["a microsecond less"] == {at("11:00"): (3, at("10:00:00.000001"))}
    assert alerts["an hour ago, told between"] == {at("10:45"): (3, at("10:00")), at("11:00"): (3, at("10:30"))}


def test_failures_at_one_moment_make_one_alert_that_counts_them_all(alerts: Alerts) -> None:
    assert alerts["same moment"] == {at("10:00"): (3, at("10:00"))}
    assert alerts["four at one moment"] == {at("10:00"): (4, at("10:00"))}
    assert alerts["same moment, told later"] == {at("10:00"): (3, at("10:00")), at("10:30"): (4, at("10:00"))}


def test_late_failure_corrects_the_alerts_that_follow_it_within_the_hour(alerts: Alerts) -> None:
    """Not the one before it, and none of those exactly an hour later or after that."""
    assert alerts["late"] == {
        at("10:00"): (4, at("09:40")),
        at("10:10"): (5, at("09:40")),
        at("10:20"): (6, at("09:40")),
        at("10:59:59.999999"): (4, at("10:00")),
    }


def test_late_failure_raises_an_alert_after_it_where_there_was_none(alerts: Alerts) -> None:
    assert alerts["late and first"] == {at("10:59:59.999999"): (3, at("10:00"))}
    assert alerts["two late"] == {at("10:45"): (3, at("10:00")), at("11:15"): (3, at("10:30"))}


def test_alert_far_from_the_new_failure_is_not_returned(alerts: Alerts) -> None:
    assert alerts["far away"] == {}


def test_scan_that_is_no_failure_changes_nothing_and_counts_for_nothing(alerts: Alerts) -> None:
    assert alerts["new with another status"] == {}
    assert alerts["before an alert, with another status"] == {}
    assert alerts["among other statuses"] == {}


def test_failures_of_another_package_do_not_matter(alerts: Alerts) -> None:
    assert alerts["with two failures"] == {}
    assert alerts["with three failures"] == {}


def test_hour_is_as_long_before_the_epoch(alerts: Alerts) -> None:
    assert alerts["before the epoch"] == {at("23:59:59.999999", EVE): (3, at("23:00", EVE))}
