"""Commits to tables in a store that is not always well."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.settings import Storage
from tests import stores
from tests.io.delta.test_lake import COLOURS, rows
from tests.unsteady_store import UnsteadyStore, unsteady

pytestmark = pytest.mark.slow


@pytest.fixture
def store(object_store: Storage) -> Iterator[UnsteadyStore]:
    with unsteady(object_store) as found, stores.reached(found.storage):
        yield found


@pytest.fixture
def lake(store: UnsteadyStore) -> Lake:
    made = Lake(None, f"{stores.new_bucket(store.storage)}/lake")
    made.ensure(COLOURS)
    return made


def merge(lake: Lake, number: int) -> None:
    with closing(duck.cursor()) as cursor:
        lake.merge(cursor, rows((number, "red")), COLOURS, Transaction("job/colours", number))


def ids(lake: Lake) -> list[int]:
    with closing(duck.cursor()) as cursor:
        return [row[0] for row in cursor.execute(f"{lake.rows(COLOURS)} ORDER BY id").fetchall()]


@pytest.mark.parametrize("name", [r"_delta_log/0+1\.json", r"\.parquet"])
def test_write_of_which_the_answer_is_lost_is_made_once(store: UnsteadyStore, lake: Lake, name: str) -> None:
    store.does(lost=name)
    merge(lake, 1)
    merge(lake, 2)
    assert ids(lake) == [1, 2]
    assert lake.newest(COLOURS).version() == 2


def test_term_of_which_the_answer_is_lost_is_begun_once(store: UnsteadyStore, lake: Lake) -> None:
    store.does(lost=r"_delta_log/0+1\.json")
    lake.begin_term([COLOURS])
    merge(lake, 1)
    assert ids(lake) == [1]
    assert lake.newest(COLOURS).version() == 2


def test_store_that_is_busy_and_slow_for_a_while_is_waited_for(store: UnsteadyStore, lake: Lake) -> None:
    store.does(refused=3, slow=0.05)
    merge(lake, 1)
    assert ids(lake) == [1]
