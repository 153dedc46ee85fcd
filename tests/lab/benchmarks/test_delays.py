"""From where and when something was seen to how long it took."""

import pyarrow as pa

from lab.benchmarks.delays import COMMITS, MESSAGES, SCANS, until_commit, until_message


def scans(*rows: tuple[int, int, int, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCANS.names, row, strict=True)) for row in rows], SCANS)


def messages(*rows: tuple[int, int, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(MESSAGES.names, row, strict=True)) for row in rows], MESSAGES)


def commits(*rows: tuple[int, int, int, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COMMITS.names, row, strict=True)) for row in rows], COMMITS)


def test_message_about_a_later_scan_of_the_package_tells_of_this_one_too() -> None:
    found = until_message(scans((7, 0, 5, 100.0), (7, 0, 8, 101.0)), messages((7, 8, 102.0)), since=0)
    assert (found.scans, found.unseen, found.p50_seconds, found.greatest_seconds) == (2, 0, 1.0, 2.0)


def test_message_about_an_earlier_scan_or_another_package_does_not() -> None:
    found = until_message(scans((7, 0, 5, 100.0)), messages((7, 4, 101.0), (8, 5, 101.0)), since=0)
    assert (found.scans, found.unseen, found.p50_seconds) == (1, 1, None)


def test_first_of_repeated_messages_counts() -> None:
    found = until_message(scans((7, 0, 5, 100.0)), messages((7, 5, 109.0), (7, 5, 101.0)), since=0)
    assert found.p50_seconds == 1.0


def test_scan_is_visible_with_the_commit_of_its_range() -> None:
    found = until_commit(
        scans((1, 0, 9, 100.0), (2, 0, 10, 100.0), (3, 1, 3, 100.0)),
        commits((0, 0, 10, 101.0), (0, 10, 20, 104.0), (1, 3, 3, 101.0), (1, 3, 4, 107.0)),
        since=0,
    )
    assert (found.unseen, found.p50_seconds, found.greatest_seconds) == (0, 4.0, 7.0)


def test_scan_after_the_last_commit_is_unseen() -> None:
    found = until_commit(scans((1, 0, 10, 100.0)), commits((0, 0, 10, 101.0)), since=0)
    assert found.unseen == 1


def test_scans_of_the_first_half_do_not_count() -> None:
    found = until_commit(scans((1, 0, 1, 100.0), (1, 0, 2, 110.0)), commits((0, 0, 10, 111.0)), since=105)
    assert (found.scans, found.p50_seconds) == (1, 1.0)
