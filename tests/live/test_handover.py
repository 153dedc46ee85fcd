"""The live job hands over the lease between two batches, and goes on from what it finds."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import ReplayPromote
from pipelines.engine.batch import maintenance_batch
from pipelines.engine.runner import LakeRunner
from pipelines.engine.schedule import CatchUpSchedule
from pipelines.errors import AnotherWriter
from pipelines.live.live_job import LiveJob, Stopped
from pipelines.live.planner import live_runner
from pipelines.live.progress import LiveProgress
from pipelines.settings import Settings
from pipelines.state.handover import Handover, handed_over
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Promoted
from tests.batches import batches, new_lake, run, tables, write_checkpoint
from tests.cases import pack_of
from tests.comparison import expected_rows
from tests.leases import writer_lease
from tests.live.fake_handover import FakeHandover
from tests.memory_log import MemoryLog

PACK = pack_of(20)
BATCHES = batches(*PACK.batches)
PROMOTE = ReplayPromote(replay_id="fix")
DONE = Promoted("fix", 7, {}, 0.5)


@pytest.fixture(scope="module")
def followed_by_none(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that has read all batches; no table has caught up."""
    root = tmp_path_factory.mktemp("behind") / "lake"
    run(new_lake(spark, str(root)), spark, PACK.records, BATCHES, catch_up=lambda _: None)
    write_checkpoint(root, BATCHES)
    return root


@pytest.fixture(scope="module")
def complete(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, whose tables all are at the last batch."""
    root = tmp_path_factory.mktemp("complete") / "lake"
    run(new_lake(spark, str(root)), spark, PACK.records, BATCHES)
    write_checkpoint(root, BATCHES)
    return root


def copied(lake: Path, home: Path) -> Settings:
    return Settings(home=home, lake=str(shutil.copytree(lake, home / "lake")))


def runner_of(spark: SparkSession, settings: Settings) -> LakeRunner:
    return live_runner(spark, settings, log=lambda session: MemoryLog(session, PACK.records))


def test_job_does_what_is_delegated_and_keeps_the_lease(
    spark: SparkSession, followed_by_none: Path, tmp_path: Path
) -> None:
    settings = copied(followed_by_none, tmp_path)
    with writer_lease(settings.lake_root) as lease, ThreadPoolExecutor(1) as pool:
        handover = Handover(lease)

        def ask() -> Promoted | None:
            with handed_over(settings.lake_root, PROMOTE) as done:
                return done

        job = LiveJob(runner_of(spark, settings), settings, handover, lambda *_: DONE)
        job.runner.prepare()
        before, nobody = job.runner.last, cast(LiveProgress, None)
        asking = pool.submit(ask)
        while handover.request is None and not asking.done():
            pass
        job.when_quiet(nobody)
        assert asking.result() == DONE
        assert job.runner.schedule.is_due(job.runner.last), (
            "what a promotion left behind comes up with the next batches"
        )
        assert job.runner.last == before, "the log is not quiet: the feed has waited"
        with pytest.raises(AnotherWriter), writer_lease(settings.lake_root):
            pass


def test_groups_that_were_left_when_a_delegated_command_brought_all_tables_further_are_not_taken(
    spark: SparkSession, followed_by_none: Path, tmp_path: Path
) -> None:
    settings = copied(followed_by_none, tmp_path)

    def promote(_command: ReplayPromote, _runner: LakeRunner, _settings: Settings) -> Promoted:
        other = runner_of(spark, settings)
        other.prepare()
        other.catch_up()
        return DONE

    handover = FakeHandover(settings, PROMOTE)
    job = LiveJob(runner_of(spark, settings), settings, handover, promote)
    job.runner.prepare()
    now = chain([0.0], repeat(1.0))
    job.runner.schedule = CatchUpSchedule(1.0, clock=lambda: next(now))
    assert job.runner.schedule.next(job.runner.last), "the first of several groups"
    job.when_quiet(cast(LiveProgress, None))
    assert job.runner.schedule.next(job.runner.last) is None
    assert tables(job.runner.lake) == expected_rows(PACK.records)


def test_job_goes_on_after_a_command_that_had_the_lease_has_changed_tables_and_ledger(
    spark: SparkSession, complete: Path, tmp_path: Path
) -> None:
    settings = copied(complete, tmp_path)

    def rebuild(_stop: threading.Event) -> None:
        runner_of(spark, settings).prepare(["gold.stop_activity"])

    job = LiveJob(runner_of(spark, settings), settings, FakeHandover(settings, None, rebuild))
    job.runner.prepare(["gold.carrier_throughput"])
    assert job.runner.last is not None
    stood = job.runner.last.batch_id
    assert stood == len(BATCHES), "it has written a row itself"
    job.when_quiet(cast(LiveProgress, None))
    assert job.runner.last.batch_id == stood + 1
    rebuilds = frozenset({"gold.carrier_throughput"})
    row = job.runner.run(maintenance_batch(job.runner.last, "rebuild", rebuilds=rebuilds))
    assert row.batch_id == stood + 2
    assert tables(job.runner.lake) == expected_rows(PACK.records)


def stopped_while_it_waits(spark: SparkSession, settings: Settings) -> LiveJob:
    stop = threading.Event()
    return LiveJob(runner_of(spark, settings), settings, FakeHandover(settings, None, threading.Event.set), stop=stop)


def test_job_that_is_stopped_while_a_command_has_the_lease_ends_and_touches_nothing(
    spark: SparkSession, complete: Path, tmp_path: Path
) -> None:
    settings = copied(complete, tmp_path)
    ends: list[bool] = []
    idle = {"isTriggerActive": False, "message": "Waiting for data to arrive"}
    query: Any = SimpleNamespace(isActive=True, status=idle, stop=lambda: ends.append(True))
    progress = cast(LiveProgress, SimpleNamespace(check=lambda: None))
    quiet, busy = (stopped_while_it_waits(spark, settings) for _ in range(2))
    quiet.runner.prepare()
    busy.runner.prepare()
    stood = Ledger(quiet.runner.lake).last()
    quiet.follow(query, progress)
    with pytest.raises(Stopped):
        busy.on_batch(spark, len(BATCHES), progress)
    busy.follow(query, progress)  # the batch did not fail
    assert len(ends) == 2
    assert Ledger(quiet.runner.lake).last() == stood
