"""The live job joins its own small files, and disturbs nobody with it."""

from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from pipelines.errors import AnotherWriter
from pipelines.io.delta import duck
from pipelines.io.delta.files import Crowd
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.live import small_files
from pipelines.live.small_files import ROUND, TURNS, join_small_files
from pipelines.state.exclusion import deleting_files
from pipelines.tables import SILVER_SHIP_ROUTES, TABLES

ITS_TURN = next(turn for turn, table in TURNS.items() if table == SILVER_SHIP_ROUTES)
BATCHES = 5


@pytest.fixture
def lake(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake with one table, to which each of a few batches has added a file."""
    monkeypatch.setattr(small_files, "CROWD", Crowd(small_bytes=1 << 20, many=3, at_most=4))
    made = Lake(None, str(tmp_path_factory.mktemp("lake")))
    made.ensure(SILVER_SHIP_ROUTES)
    for number in range(BATCHES):
        route = {
            "route_id": number,
            "tracking_number": 100 - number,
            "end_stop_id": 7,
            "is_withdrawn": False,
            "kafka_topic": "ship-routes",
            "kafka_partition": 0,
            "kafka_offset": 10 - number,
            "kafka_timestamp": datetime(2026, 3, 1, tzinfo=UTC),
        }
        made.append_rows(pa.Table.from_pylist([route]), SILVER_SHIP_ROUTES, Transaction("job/routes", number, number))
    return made


def routes(lake: Lake) -> list[int]:
    with closing(duck.cursor()) as cursor:
        return [
            number for (number,) in cursor.execute(f"SELECT route_id FROM ({lake.rows(SILVER_SHIP_ROUTES)})").fetchall()
        ]


def file_count(lake: Lake) -> int:
    return lake.size(SILVER_SHIP_ROUTES)[0]


def test_every_table_that_batches_add_to_has_a_turn_of_its_own() -> None:
    assert sorted(table.name for table in TURNS.values()) == sorted(
        table.name for table in TABLES if table.is_append_only
    )
    assert all(0 <= turn < ROUND for turn in TURNS)


def test_oldest_small_files_are_joined_when_the_turn_comes_and_no_row_changes(lake: Lake) -> None:
    before, version = set(routes(lake)), lake.newest(SILVER_SHIP_ROUTES).version()
    for batch_id in range(ROUND, 2 * ROUND):
        assert file_count(lake) == (BATCHES if batch_id <= ROUND + ITS_TURN else BATCHES - 3)
        join_small_files(lake, batch_id)
    assert set(routes(lake)) == before
    assert list(lake.log(SILVER_SHIP_ROUTES).changes(version)) == [], "to batches it is no change"


def test_rows_of_joined_files_are_in_the_order_of_the_key(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "CROWD", Crowd(small_bytes=1 << 20, many=3))
    join_small_files(lake, ITS_TURN)
    assert file_count(lake) == 1
    assert routes(lake) == [4, 3, 2, 1, 0]


def test_few_files_are_left(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "CROWD", Crowd(small_bytes=1 << 20, many=BATCHES + 1))
    join_small_files(lake, ITS_TURN)
    assert file_count(lake) == BATCHES


def test_files_are_left_while_another_command_takes_some_out_and_joined_the_next_time(lake: Lake) -> None:
    with deleting_files(lake.root):
        join_small_files(lake, ITS_TURN)
    assert file_count(lake) == BATCHES
    join_small_files(lake, ITS_TURN + ROUND)
    assert file_count(lake) == BATCHES - 3


def test_job_that_was_overtaken_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AnotherWriter("Another process writes the lake.")

    monkeypatch.setattr(small_files, "join", refused)
    with pytest.raises(AnotherWriter):
        join_small_files(lake, ITS_TURN)


def test_lake_without_its_tables_is_left(tmp_path_factory: pytest.TempPathFactory) -> None:
    join_small_files(Lake(None, str(tmp_path_factory.mktemp("lake"))), ITS_TURN)
