"""Reports and positions in one file, in one transaction."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.api.report import Entry
from pipelines.api.store import Store
from tests.api.makers import TOPIC, entry
from tests.permissions import permitted_beyond


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reports.sqlite"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    made = Store(file)
    made.begin(TOPIC, {0: 0, 1: 0})
    yield made
    made.close()


def test_what_was_applied_is_there_after_a_restart_with_its_positions(store: Store, file: Path) -> None:
    store.apply({42: entry(7)}, {0: 8})
    store.close()
    again = Store(file)
    assert again.entry(42) == entry(7)
    assert again.entry(43) is None
    assert (again.topic_id(), again.positions(), again.count()) == (TOPIC, {0: 8, 1: 0}, 1)
    again.close()


def test_repeat_changes_nothing_not_even_the_position_of_the_report(store: Store) -> None:
    assert store.apply({42: entry(7)}, {0: 8}) == {42: entry(7)}
    assert store.apply({42: entry(9)}, {0: 10}) == {}
    assert store.entry(42) == entry(7)
    assert store.positions()[0] == 10
    assert store.apply({42: entry(11, stop=10)}, {0: 12}) == {42: entry(11, stop=10)}


def test_tombstone_deletes_and_a_second_one_is_a_repeat(store: Store) -> None:
    store.apply({42: entry(7)}, {0: 8})
    gone = Entry(0, 8, "gone")
    assert store.apply({42: gone}, {0: 9}) == {42: gone}
    assert store.entry(42) is None
    assert store.apply({42: gone}, {0: 10}) == {}


def test_unreadable_report_is_kept_as_such(store: Store) -> None:
    store.apply({42: entry(7)}, {0: 8})
    store.apply({42: Entry(0, 8, "unreadable")}, {0: 9})
    assert store.entry(42) == Entry(0, 8, "unreadable")


def test_write_that_fails_leaves_neither_report_nor_position(store: Store) -> None:
    with pytest.raises(sqlite3.Error):
        store.apply({42: entry(7)}, {0: object()})  # type: ignore[dict-item]
    assert store.entry(42) is None
    assert store.positions() == {0: 0, 1: 0}
    store.apply({42: entry(7)}, {0: 8})


def test_beginning_forgets_all(store: Store) -> None:
    store.apply({42: entry(7)}, {0: 8})
    store.begin("another", {0: 3})
    assert (store.entry(42), store.topic_id(), store.positions()) == (None, "another", {0: 3})


@pytest.mark.parametrize("damage", [b"no database at all" * 100, None])
def test_file_that_is_damaged_or_of_another_layout_is_made_again(
    store: Store, file: Path, damage: bytes | None
) -> None:
    store.apply({42: entry(7)}, {0: 8})
    store.close()
    if damage:
        file.write_bytes(damage)
    else:
        with sqlite3.connect(file) as other:
            other.execute("PRAGMA user_version = 99")
    again = Store(file)
    assert (again.topic_id(), again.positions(), again.entry(42)) == (None, {}, None)
    again.close()


def test_files_are_this_users_alone_whatever_the_umask(file: Path) -> None:
    import os

    before = os.umask(0)
    try:
        made = Store(file)
        made.begin(TOPIC, {0: 0})
    finally:
        os.umask(before)
    assert len(list(file.parent.iterdir())) == 3
    assert permitted_beyond(0o077, file.parent) == {}
    made.close()
