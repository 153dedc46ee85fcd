"""The live job lends the lake between two batches, and goes on from what it finds."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.batch import maintenance_batch
from pipelines.engine.runner import LakeRunner
from pipelines.engine.schedule import Cycle
from pipelines.errors import AnotherWriter
from pipelines.live.live_job import LiveJob, Stopped
from pipelines.live.planner import live_runner
from pipelines.live.progress import LiveProgress
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger
from pipelines.state.writer_lease import Request, borrowed, live_lock
from tests.batches import batches, new_lake, run, tables, write_checkpoint
from tests.cases import pack_of
from tests.comparison import expected_rows
from tests.memory_log import MemoryLog

PACK = pack_of(20)
BATCHES = batches(*PACK.batches)


@pytest.fixture(scope="module")
def followed_by_none(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that has read all batches; what follows has not followed."""
    root = tmp_path_factory.mktemp("behind") / "lake"
    run(new_lake(spark, str(root)), spark, PACK.records, BATCHES, following=lambda _: None)
    write_checkpoint(root, BATCHES)
    return root


@pytest.fixture(scope="module")
def complete(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, whose tables all stand at the last batch."""
    root = tmp_path_factory.mktemp("complete") / "lake"
    run(new_lake(spark, str(root)), spark, PACK.records, BATCHES)
    write_checkpoint(root, BATCHES)
    return root


def copied(lake: Path, home: Path) -> Settings:
    return Settings(home=home, lake=str(shutil.copytree(lake, home / "lake")))


def runner_of(spark: SparkSession, settings: Settings) -> LakeRunner:
    return live_runner(spark, settings, log=lambda session: MemoryLog(session, PACK.records))


def test_job_that_knows_the_errand_does_it_and_keeps_the_lake(
    spark: SparkSession, followed_by_none: Path, tmp_path: Path
) -> None:
    settings = copied(followed_by_none, tmp_path)
    with live_lock(settings.lake_root) as lock, ThreadPoolExecutor(1) as pool:

        def ask() -> str | None:
            with borrowed(settings.lake_root, "promote fix") as answer:
                return answer

        job = LiveJob(runner_of(spark, settings), settings, lock, lambda words, *_: f"done: {words}")
        job.runner.prepare()
        asking = pool.submit(ask)
        while lock.request is None and not asking.done():
            pass
        job._ended_at = 0.0
        job._lend_if_asked()
        assert asking.result() == "done: promote fix"
        assert job.runner.cycle.is_due(job.runner.last), "what a promotion left behind comes up with the next batches"
        before, nobody = job.runner.last, cast(LiveProgress, None)
        job._catch_up_when_quiet(nobody)
        assert job.runner.last is before, "the log is not quiet: the feed has waited"
        with pytest.raises(AnotherWriter), live_lock(settings.lake_root):
            pass


def test_turns_that_were_left_when_an_errand_brought_all_tables_further_are_not_taken(
    spark: SparkSession, followed_by_none: Path, tmp_path: Path
) -> None:
    settings = copied(followed_by_none, tmp_path)

    class Lock:
        request = Request("1", "promote fix")
        errand = staticmethod(lambda _: nullcontext(True))
        answer = staticmethod(lambda *_: None)

    def errand(*_: object) -> str:
        other = runner_of(spark, settings)
        other.prepare()
        other.catch_up()
        return "done"

    lock: Any = Lock()
    job = LiveJob(runner_of(spark, settings), settings, lock, errand)
    job.runner.prepare()
    now = chain([0.0], repeat(1.0))
    job.runner.cycle = Cycle(1.0, clock=lambda: next(now))
    assert job.runner.cycle.next(job.runner.last), "the first of several turns"
    job._lend_if_asked()
    assert job.runner.cycle.next(job.runner.last) is None
    assert tables(job.runner.lake) == expected_rows(PACK.records)


def test_job_goes_on_after_a_command_that_had_the_lake_has_changed_tables_and_ledger(
    spark: SparkSession, complete: Path, tmp_path: Path
) -> None:
    settings = copied(complete, tmp_path)

    class Lock:
        request = Request("1", "")

        def lend(self, _stop: object) -> bool:
            runner_of(spark, settings).prepare(["gold.stop_activity"])
            return True

    lock: Any = Lock()
    job = LiveJob(runner_of(spark, settings), settings, lock)
    job.runner.prepare(["gold.carrier_throughput"])
    assert job.runner.last is not None
    stood = job.runner.last.batch_id
    assert stood == len(BATCHES), "it has written a row itself"
    job._lend_if_asked()
    assert job.runner.last.batch_id == stood + 1
    row = job.runner.run(maintenance_batch(job.runner.last, "rebuild", rebuilds=frozenset({"gold.carrier_throughput"})))
    assert row.batch_id == stood + 2
    assert tables(job.runner.lake) == expected_rows(PACK.records)


def test_job_that_is_stopped_while_a_command_has_the_lake_ends_and_touches_nothing(
    spark: SparkSession, complete: Path, tmp_path: Path
) -> None:
    settings = copied(complete, tmp_path)

    class Lock:
        request = Request("1", "")

        def lend(self, stop: threading.Event) -> bool:
            stop.set()
            return False

    lock: Any = Lock()
    ends: list[bool] = []
    idle = {"isTriggerActive": False}
    query: Any = SimpleNamespace(isActive=True, status=idle, stop=lambda: ends.append(True))
    progress = cast(LiveProgress, SimpleNamespace(check=lambda: None))
    quiet, busy = (
        LiveJob(runner_of(spark, settings), settings, lock),
        LiveJob(runner_of(spark, settings), settings, lock),
    )
    quiet.runner.prepare()
    busy.runner.prepare()
    stood = Ledger(quiet.runner.lake).last()
    quiet._follow(query, progress)
    with pytest.raises(Stopped):
        busy._on_batch(spark, len(BATCHES), progress)
    busy._follow(query, progress)  # the batch did not fail
    assert len(ends) == 2
    assert Ledger(quiet.runner.lake).last() == stood
