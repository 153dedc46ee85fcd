"""A checkpoint that is lost: the job goes on where the ledger ends, under a new one; nothing is lost or doubled."""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.checks import verify
from pipelines.commands import Verify
from pipelines.engine.batch import Batch, CatchUp, LogPosition, maintenance_batch
from pipelines.engine.runner import LakeRunner
from pipelines.errors import InvalidInput, LakeMismatch, LogTruncated
from pipelines.graph import CATCH_UP_GROUPS, FLOWS
from pipelines.io.delta import delta_rs, duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.kafka.log import ends, offsets_json, starts
from pipelines.io.spark.checkpoint import Checkpoint
from pipelines.io.storage import files
from pipelines.live.new_checkpoint import replace_checkpoint
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import GOLD_REMAINING_STOPS, OPS_BATCHES, TABLES
from tests.batches import Crashed, CrashingLake, batches, new_lake, run, tables, write_checkpoint
from tests.comparison import Rows, expected_rows
from tests.memory_log import MemoryLog
from tests.oracle.makers import route, scan
from tests.oracle.records import LogRecord
from tests.saboteur import Saboteur

PARTS: tuple[tuple[LogRecord, ...], ...] = (
    (scan(4, "09:00", status="DF", offset=0), route(4, 9, offset=0), scan(4, "09:20", status="DF", offset=1)),
    (scan(4, "09:40", status="DF", offset=2), replace(scan(offset=3), value=b"not a scan")),
    (
        scan(4, "09:30", status="DF", logged="09:50", offset=4),
        route(4, 11, offset=1, logged="09:51"),
        scan(5, "10:00", offset=5),
    ),
)
RECORDS = [record for part in PARTS for record in part]
READ = RECORDS[: -len(PARTS[2])]
PLANNED = batches(*PARTS)
LAST = replace(PLANNED[2], catch_up=CatchUp(CATCH_UP_GROUPS, PLANNED[1].end_position))
"""In it, the catch-up tables are brought up to the batch before: the tables that it brings there are ahead, too."""

REST = batches(READ, PARTS[2])[1:]
CUT_OTHERWISE = batches(READ, PARTS[2][:1], PARTS[2][1:])[1:]
BEGIN, END = starts(PLANNED[0].ranges), ends(PLANNED[-1].ranges)
CAUGHT_UP = {flow.into.name for flow in FLOWS if flow.catch_up_group}
AT_THE_LEDGER: dict[str, Rows] = expected_rows(READ) | {
    name: rows for name, rows in expected_rows(PARTS[0]).items() if name in CAUGHT_UP
}
"""What the tables hold after two batches, if the catch-up tables came to the first."""

STEPS = ((delta_rs, "restore"), (Checkpoint, "set_aside"), (files, "write_whole"), (Ledger, "append"))


class Fed:
    """A lake that has read a part of the log, and its job."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self.folder = root / "_checkpoints" / "live"
        self.settings = Settings(home=root.parent, lake=str(root))

    @property
    def lake(self) -> Lake:
        return Lake(self.spark, str(self.root))

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(str(self.folder))

    def copied(self, folder: Path) -> "Fed":
        return Fed(self.spark, Path(shutil.copytree(self.root, folder / "lake")))

    def last(self) -> LedgerRow:
        row = Ledger(self.lake).last()
        assert row is not None
        return row

    def cut_off(self, batch: Batch, writes: int | str) -> None:
        """The job dies within a batch, after so many writes, or that of a table."""
        with pytest.raises(Crashed):
            run(CrashingLake(self.spark, str(self.root), writes), self.spark, RECORDS, [batch])
        assert Ledger(self.lake).row(batch.batch_id) is None
        write_checkpoint(self.root, PLANNED[: batch.batch_id + 1], cut_off=True)

    def restart(self) -> None:
        replace_checkpoint(self.lake, self.checkpoint, BEGIN, END)

    def runner(self) -> LakeRunner:
        return live_runner(self.spark, self.settings, log=lambda session: MemoryLog(session, RECORDS))

    def start(self) -> LakeRunner:
        """What every start does before a batch: tables that are as the ledger says, or a refusal."""
        runner = self.runner()
        runner.prepare()
        return runner

    def renumbered(self, todo: Sequence[Batch]) -> list[Batch]:
        """Batches as the new checkpoint counts them."""
        last, query_id = self.last(), self.checkpoint.query_id()
        assert query_id is not None
        return [
            replace(
                each, batch_id=last.batch_id + 1 + n, checkpoint_batch_id=n, checkpoint_id=query_id, writer=query_id
            )
            for n, each in enumerate(todo)
        ]

    def require_the_log(self, rest: Sequence[Batch] = REST) -> None:
        """Reads the rest of the log, and compares all tables with all of it."""
        run(self.start().lake, self.spark, RECORDS, self.renumbered(rest))
        assert tables(self.lake) == expected_rows(RECORDS)
        verify.run(Verify(), self.settings)

    def files(self) -> set[Path]:
        return {path for path in self.root.rglob("*") if not path.match("_delta_log/*.crc")}


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """After two batches, with a checkpoint that fits."""
    fed = Fed(spark, tmp_path_factory.mktemp("whole") / "lake")
    run(new_lake(spark, str(fed.root)), spark, RECORDS, PLANNED[:2], _in_the_first)
    write_checkpoint(fed.root, PLANNED[:2])
    return fed


def _in_the_first(batch: Batch) -> CatchUp | None:
    return None if batch.batch_id else CatchUp(CATCH_UP_GROUPS, batch.end_position)


@pytest.fixture
def fed(whole: Fed, tmp_path: Path) -> Fed:
    return whole.copied(tmp_path)


@pytest.fixture
def empty(spark: SparkSession, tmp_path: Path) -> Fed:
    new_lake(spark, str(tmp_path / "lake"))
    return Fed(spark, tmp_path / "lake")


def missing(fed: Fed) -> None:
    shutil.rmtree(fed.folder)


def without_identity(fed: Fed) -> None:
    (fed.folder / "metadata").unlink()


def foreign(fed: Fed) -> None:
    (fed.folder / "metadata").write_text(json.dumps({"id": "another"}))


def torn(fed: Fed) -> None:
    (fed.folder / "offsets" / "1").write_text("v1")


def with_an_empty_file(fed: Fed) -> None:
    (fed.folder / "metadata").write_text("")


def older(fed: Fed) -> None:
    for log in ("offsets", "commits"):
        (fed.folder / log / "1").unlink()


@pytest.mark.parametrize("lose", [missing, without_identity, foreign, torn, with_an_empty_file, older])
def test_new_checkpoint_begins_where_the_ledger_ends(fed: Fed, lose: Callable[[Fed], None]) -> None:
    lose(fed)
    there = fed.folder.exists()
    fed.restart()
    assert fed.checkpoint.start_offsets(0) == ends(PLANNED[1].ranges)
    assert len(list(fed.folder.parent.iterdir())) == 1 + there, "what is left of the old one is kept"
    fed.start()
    assert tables(fed.lake) == AT_THE_LEDGER


def test_job_goes_on_where_the_ledger_ends(fed: Fed) -> None:
    missing(fed)
    fed.restart()
    fed.require_the_log(CUT_OTHERWISE)


@pytest.mark.parametrize("lose", [missing, without_identity, foreign, torn, older])
def test_without_being_asked_to_it_does_not_start(fed: Fed, lose: Callable[[Fed], None]) -> None:
    lose(fed)
    before = fed.files()
    with pytest.raises(LakeMismatch, match=r"`pts stream --new-checkpoint` \(docs/runbook.md, 'A lost checkpoint'\)"):
        fed.start()
    assert fed.files() == before


@pytest.mark.parametrize("writes", [1, 3, 4, 9])
def test_what_the_lost_batch_has_written_is_taken_back(fed: Fed, writes: int) -> None:
    """The first three writes are the batch's own, the others catch up to the batch before."""
    fed.cut_off(LAST, writes)
    missing(fed)
    fed.restart()
    assert tables(fed.lake) == AT_THE_LEDGER
    fed.require_the_log()


def test_what_a_catch_up_and_a_maintenance_command_left_half_done_is_taken_back(fed: Fed) -> None:
    fed.cut_off(maintenance_batch(fed.last(), "catch-up"), writes=2)
    with closing(duck.cursor()) as cursor:
        fed.lake.delete(cursor, "true", GOLD_REMAINING_STOPS, Transaction("expire-0a1b/remaining_stops", 0))
    missing(fed)
    fed.restart()
    assert tables(fed.lake) == AT_THE_LEDGER
    fed.require_the_log()


def test_start_that_was_cut_off_anywhere_is_ended_by_the_same_command_and_by_no_other(
    fed: Fed, monkeypatch: pytest.MonkeyPatch, crash_every: int
) -> None:
    fed.cut_off(LAST, writes=6)
    torn(fed)
    saboteur, copies = Saboteur(monkeypatch, *STEPS), [fed]

    def replace_on_a_copy() -> None:
        copies.append(fed.copied(fed.root.parent / str(len(copies))))
        copies[-1].restart()

    for _ in saboteur.crashes(replace_on_a_copy, crash_every):
        copy = copies[-1]
        if copy.last() == fed.last():  # the row is the last step
            with pytest.raises(LakeMismatch, match="pts stream --new-checkpoint"):
                copy.start()
            copy.restart()
        copy.start()
        assert tables(copy.lake) == AT_THE_LEDGER
    assert len(copies) * crash_every > len(STEPS) * 2
    saboteur.limit = 0
    copies[-2].require_the_log()


def test_start_that_was_cut_off_is_known_also_when_the_old_checkpoint_comes_back(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan is of no use any more: what Delta has seen of that batch, it would leave out."""
    fed.cut_off(LAST, writes=2)
    old = fed.folder.rename(fed.root.parent / "backup")
    saboteur = Saboteur(monkeypatch, *STEPS)
    saboteur.limit = 1
    with pytest.raises(Crashed):
        fed.restart()
    saboteur.limit = 0
    shutil.copytree(old, fed.folder)
    with pytest.raises(LakeMismatch, match=r"was cut off between tables. `pts stream --new-checkpoint` ends it"):
        fed.start()
    fed.restart()
    fed.require_the_log()


@pytest.mark.parametrize("writes", [1, 6])
def test_first_batch_under_the_new_checkpoint_may_be_cut_off_too(fed: Fed, writes: int) -> None:
    """Also before its plan is there, and right after."""
    fed.cut_off(LAST, writes=2)
    missing(fed)
    fed.restart()
    fed.start()
    first, *rest = fed.renumbered(CUT_OTHERWISE)
    first = replace(first, catch_up=CatchUp(CATCH_UP_GROUPS, LogPosition.of(fed.last())))
    write_checkpoint(fed.root, [first], cut_off=True)
    fed.start()
    with pytest.raises(Crashed):
        run(CrashingLake(fed.spark, str(fed.root), writes), fed.spark, RECORDS, [first])
    runner = fed.runner()
    assert runner.prepare(), "it was cut off"
    assert runner.last is not None
    shift = runner.last.batch_id + 1 - first.batch_id  # a catch-up that was cut off is completed in a batch of its own
    todo = [replace(each, batch_id=each.batch_id + shift, catch_up=None) for each in (first, *rest)]
    run(runner.lake, fed.spark, RECORDS, todo)
    assert tables(fed.lake) == expected_rows(RECORDS)


@pytest.mark.parametrize("writes", [0, 3])
def test_plan_that_ends_before_it_begins_is_left_and_what_it_has_written_is_taken_back(fed: Fed, writes: int) -> None:
    """Spark has planned it while the log was shorter than what was read."""
    fed.cut_off(PLANNED[2], writes)
    plan = fed.folder / "offsets" / str(PLANNED[2].checkpoint_batch_id)
    plan.write_text(plan.read_text().replace(offsets_json(ends(PLANNED[2].ranges)), offsets_json(BEGIN)))
    fed.restart()
    assert tables(fed.lake) == AT_THE_LEDGER
    assert fed.checkpoint.last_planned() is None


def test_when_nothing_is_lost_it_is_refused(fed: Fed) -> None:
    fed.cut_off(LAST, writes=2)
    before = fed.files()
    with pytest.raises(InvalidInput, match=r"live fits the ledger: nothing is lost. Start without --new-checkpoint"):
        fed.restart()
    assert fed.files() == before
    missing(fed)
    fed.restart()
    with pytest.raises(InvalidInput, match="nothing is lost"):
        fed.restart()


def test_log_that_does_not_go_on_there_is_refused_before_anything_is_changed(fed: Fed) -> None:
    fed.cut_off(LAST, writes=2)
    missing(fed)
    before = fed.files()
    with pytest.raises(LogTruncated, match="ship-events/0 begins at offset 5, but 4 is the next to be read"):
        replace_checkpoint(fed.lake, fed.checkpoint, {"ship-events": {0: 5}, "ship-routes": {0: 0}}, END)
    assert fed.files() == before


def test_table_that_cannot_go_back_is_refused_before_anything_is_changed(fed: Fed) -> None:
    fed.cut_off(LAST, writes=3)
    missing(fed)
    path = fed.root / "silver" / "ship_events"
    next(path.glob("*.parquet")).unlink()
    before = fed.files()
    with pytest.raises(LakeMismatch, match=r"silver.ship_events lacks 1 of its data files.* Restore the lake from"):
        fed.restart()
    assert fed.files() == before


def test_gold_table_that_cannot_go_back_is_made_again(fed: Fed) -> None:
    """A vacuum took the files that the lost batch had replaced."""
    fed.cut_off(LAST, writes="gold.remaining_stops")
    missing(fed)
    DeltaTable(fed.root / "gold" / "remaining_stops").vacuum(0, dry_run=False, enforce_retention_duration=False)
    fed.restart()
    with pytest.raises(LakeMismatch, match=r"`pts rebuild gold.remaining_stops` rebuilds it"):
        fed.start()
    fed.runner().prepare(["gold.remaining_stops"])
    fed.require_the_log()


def test_what_another_program_wrote_is_not_taken_back(fed: Fed) -> None:
    missing(fed)
    DeltaTable(fed.root / "bronze" / "ship_routes").alter.set_table_properties({"delta.appendOnly": "false"})
    with pytest.raises(LakeMismatch, match=r"bronze.ship_routes was changed: version 2 .* by another program"):
        fed.restart()


@pytest.mark.parametrize("writes", [1, 3])
def test_lake_whose_first_batch_is_lost_begins_again(empty: Fed, writes: int) -> None:
    empty.cut_off(PLANNED[0], writes)
    with pytest.raises(InvalidInput, match="nothing is lost"):
        empty.restart()
    missing(empty)
    empty.restart()
    assert all(not rows for rows in tables(empty.lake).values())
    empty.require_the_log(batches(RECORDS))


def test_lake_whose_first_batch_is_lost_is_refused_when_the_log_has_lost_its_beginning(empty: Fed) -> None:
    empty.cut_off(PLANNED[0], writes=2)
    missing(empty)
    with pytest.raises(LakeMismatch, match="nobody can tell whether the tables hold records that it has lost"):
        replace_checkpoint(empty.lake, empty.checkpoint, {"ship-events": {0: 1}, "ship-routes": {0: 0}}, END)


def test_new_lake_has_nothing_to_go_on_from(empty: Fed) -> None:
    with pytest.raises(InvalidInput, match="nothing is lost"):
        empty.restart()


def test_ledger_that_is_lost_is_refused(fed: Fed) -> None:
    shutil.rmtree(fed.root / OPS_BATCHES.folder)
    with pytest.raises(LakeMismatch, match=r"has committed batch 1, but the ledger ops.batches has no row"):
        fed.restart()
    missing(fed)
    with pytest.raises(LakeMismatch, match=r"written by batch 1 of checkpoint .* restored from different times"):
        fed.restart()
    assert tables(fed.lake) == AT_THE_LEDGER


def test_every_table_has_its_place_in_the_row_that_names_the_new_checkpoint(fed: Fed) -> None:
    fed.cut_off(LAST, writes=3)
    before = fed.last()
    missing(fed)
    fed.restart()
    row = fed.last()
    assert (row.batch_id, row.checkpoint_id, row.checkpoint_batch_id) == (2, fed.checkpoint.query_id(), -1)
    assert maintenance_batch(row, "backfill").transaction("any").version == 0, "Delta knows none below"
    assert row.end_offsets == before.end_offsets
    assert row.tables.keys() == {table.name for table in TABLES if table != OPS_BATCHES}
    for name, state in row.tables.items():
        assert state.position == {1: 2}.get(before.tables[name].position, before.tables[name].position)
