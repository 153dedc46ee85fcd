"""Tables that catch up with the batches: brought to an earlier one while the log goes on, and cut off on the way."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.batch import Batch, CatchUp, maintenance_batch
from pipelines.graph import CATCH_UP_GROUPS, FLOWS
from pipelines.io.delta.lake import Lake
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from tests.batches import Crashed, CrashingLake, batches, new_lake, run, tables, write_checkpoint
from tests.comparison import Rows, expected_rows
from tests.memory_log import MemoryLog
from tests.oracle.makers import route, scan
from tests.oracle.records import LogRecord

PARTS: tuple[tuple[LogRecord, ...], ...] = (
    (
        scan(4, "09:00", status="DF", offset=0),
        route(4, 9, offset=0),
        scan(4, "09:20", status="DF", offset=1),
        replace(scan(offset=2), value=b"not a scan"),
    ),
    (scan(4, "09:40", status="DF", offset=3), scan(4, "09:40", status="DF", offset=4)),
    (scan(4, "09:30", status="DF", logged="09:50", offset=5), replace(scan(offset=6), value=b"no scan")),
)
RECORDS = [record for part in PARTS for record in part]
CAUGHT_UP = {flow.into.name for flow in FLOWS if flow.catch_up_group}


def in_the_third(number: int) -> list[Batch]:
    """All three batches; in the third, the catch-up tables are brought up to the one with the number."""
    plain = [replace(batch, catch_up=CatchUp((), batch.end_position)) for batch in batches(*PARTS)]
    return [*plain[:2], replace(plain[2], catch_up=CatchUp(CATCH_UP_GROUPS, plain[number].end_position))]


def expected(followed: int) -> dict[str, Rows]:
    """What the tables hold when the catch-up tables have come so many batches."""
    read = [record for part in PARTS[:followed] for record in part]
    return expected_rows(RECORDS) | {name: rows for name, rows in expected_rows(read).items() if name in CAUGHT_UP}


def test_alerts_of_an_earlier_batch_do_not_count_later_scans(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path))
    rows, _ = run(lake, spark, RECORDS, in_the_third(1))
    assert tables(lake) == expected(2)
    assert {name: state.position for name, state in rows[-1].tables.items()} == {
        name: 1 if name in CAUGHT_UP else 2 for name in rows[-1].tables
    }
    run(lake, spark, RECORDS, [maintenance_batch(rows[-1], "catch-up")])
    assert tables(lake) == expected_rows(RECORDS)


@pytest.fixture(scope="module")
def before(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake after two batches, in which nothing followed."""
    root = tmp_path_factory.mktemp("following") / "lake"
    run(new_lake(spark, str(root)), spark, RECORDS, in_the_third(0)[:2])
    return root


@pytest.mark.parametrize("writes", [4, 5, 6])
def test_catch_up_that_was_cut_off_is_completed_at_the_next_start(
    spark: SparkSession, before: Path, tmp_path: Path, writes: int
) -> None:
    """The next batch is the one that was cut off; the catch-up ends where they were to end, before it is repeated."""
    root = Path(shutil.copytree(before, tmp_path / "lake"))
    planned = in_the_third(0)
    crashing = CrashingLake(spark, str(root), writes)
    with pytest.raises(Crashed):
        run(crashing, spark, RECORDS, planned[2:])
    caught_up = set(crashing.written) & CAUGHT_UP
    assert caught_up
    write_checkpoint(root, planned, cut_off=True)

    settings = Settings(home=tmp_path, lake=str(root))
    runner = live_runner(spark, settings, log=lambda session: MemoryLog(session, RECORDS))
    assert runner.prepare(), "a batch was cut off"
    assert runner.last is not None
    assert runner.last.batch_id == 2
    assert {runner.last.tables[name].position for name in caught_up} == {0}
    run(runner.lake, spark, RECORDS, [replace(planned[2], batch_id=3, catch_up=None)])
    assert tables(Lake(spark, str(root))) == expected_rows(RECORDS)
