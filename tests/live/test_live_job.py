"""The live job ends at a batch boundary, whatever it is that ends it."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from traceback import format_exception
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import ReplayPromote
from pipelines.engine.batch import Batch
from pipelines.engine.runner import LakeRunner
from pipelines.errors import BrokerUnavailable, LakeUnavailable, LogTruncated, PtsError, TopicMismatch
from pipelines.io.delta.lake import Lake
from pipelines.live import live_job
from pipelines.live.live_job import LiveJob, Stopped, is_in_batch
from pipelines.live.planner import LivePlanner, live_runner
from pipelines.live.progress import LiveProgress
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.replay_records import Promoted
from tests.batches import batches, new_lake, run, write_checkpoint
from tests.cases import pack_of
from tests.live.fake_handover import FakeHandover

PACK = pack_of(20)
BATCHES = batches(*PACK.batches)


class Query:
    """A streaming query that has a batch under way until `commits` is set, and notes how it ended."""

    def __init__(self) -> None:
        self.has_java = True
        self.commits = threading.Event()
        self.ends: list[str] = []

    @property
    def isActive(self) -> bool:  # noqa: N802
        if not self.has_java:
            raise ConnectionRefusedError
        return True

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": not self.commits.is_set(), "message": "Processing new data"}

    def stop(self) -> None:
        self.ends.append("committed" if self.commits.is_set() else "cut off")

    def awaitTermination(self) -> None:  # noqa: N802
        self.ends.append("drained")


class Progress:
    """Tells what went wrong beside the batches."""

    def __init__(self, error: PtsError | None = None) -> None:
        self.error = error

    def check(self) -> None:
        if self.error:
            raise self.error


class WaitingBatch:
    """A batch that is under way until `ends` is set, and then fails."""

    def __init__(self, error: Exception) -> None:
        self.begins, self.ends = threading.Event(), threading.Event()
        self._error = error

    def __call__(self) -> None:
        self.begins.set()
        assert self.ends.wait(20)
        raise self._error


class Runner(LakeRunner):
    """Whose batches do what the test says."""

    does: Callable[[], None]

    def run(self, batch: Batch, spark: SparkSession | None = None) -> LedgerRow:
        self.does()
        raise AssertionError("none of these batches ends well")


def job_of(spark: SparkSession, folder: Path, stop: threading.Event | None = None) -> LiveJob:
    settings = Settings(home=folder, lake=str(folder / "lake"))
    return LiveJob(live_runner(spark, settings), settings, stop=stop)


def job_whose_batch(
    does: Callable[[], None], spark: SparkSession, folder: Path, stop: threading.Event | None = None
) -> LiveJob:
    """One whose checkpoint has planned its first batch."""
    settings = Settings(home=folder, lake=str(folder / "lake"))
    write_checkpoint(folder / "lake", BATCHES[:1], cut_off=True)
    runner = Runner(Lake(spark, settings.lake_root), LivePlanner(settings), lambda _: cast(Any, None), settings)
    runner.does = does
    return LiveJob(runner, settings, stop=stop)


def fails(job: LiveJob, error: PtsError) -> None:
    """Beside the batches."""
    query = Query()
    query.commits.set()
    with pytest.raises(PtsError):
        job.follow(cast(Any, query), cast(LiveProgress, Progress(error)))


def following(job: LiveJob, query: Query, progress: Progress, pool: ThreadPoolExecutor) -> Future[None]:
    return pool.submit(job.follow, cast(Any, query), cast(LiveProgress, progress))


def stays_open(future: Future[None]) -> bool:
    time.sleep(5 * live_job.POLL_SECONDS)
    return not future.done()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("Getting offsets from KafkaV2[Subscribe[ship-events, ship-routes]]", False, id="looks"),
        pytest.param("Writing offsets to log", True, id="plans"),
        pytest.param("Processing new data", True, id="runs"),
    ],
)
def test_query_is_in_a_batch_from_its_plan_on(message: str, expected: bool) -> None:
    assert is_in_batch({"isTriggerActive": True, "message": message}) is expected
    assert not is_in_batch({"isTriggerActive": False, "message": message})


def test_what_fails_beside_a_batch_ends_the_job_when_spark_has_committed_the_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch, query, progress = WaitingBatch(Stopped()), Query(), Progress()
    job = job_whose_batch(batch, spark, tmp_path)
    with ThreadPoolExecutor(2) as pool:
        end = following(job, query, progress, pool)
        under_way = pool.submit(job.on_batch, spark, 0, cast(LiveProgress, progress))
        assert batch.begins.wait(20)
        progress.error = LakeUnavailable("no heartbeat")
        assert stays_open(end)
        batch.ends.set()
        assert isinstance(under_way.exception(timeout=20), Stopped)
        assert stays_open(end), "Spark's own commit is part of the batch"
        assert not query.ends
        query.commits.set()
        with pytest.raises(LakeUnavailable, match="no heartbeat"):
            end.result(timeout=20)
    assert query.ends == ["committed"]


def test_no_batch_begins_once_something_has_failed(spark: SparkSession, tmp_path: Path) -> None:
    begun = []

    def fail() -> None:
        begun.append("a batch")
        raise LakeUnavailable("no room")

    job, progress = job_whose_batch(fail, spark, tmp_path), cast(LiveProgress, Progress())
    for _ in range(2):
        with pytest.raises(Stopped):
            job.on_batch(spark, 0, progress)
    assert begun == ["a batch"]


def test_no_batch_begins_once_something_beside_it_has_failed(spark: SparkSession, tmp_path: Path) -> None:
    job = job_of(spark, tmp_path)
    fails(job, TopicMismatch("a partition more"))
    with pytest.raises(Stopped):
        job.on_batch(spark, 0, cast(LiveProgress, Progress()))


def test_batch_that_failed_ends_the_job_with_the_first_failure(spark: SparkSession, tmp_path: Path) -> None:
    """The heartbeat may fail for the same reason, before Spark has noticed the end of its query."""

    def refuse() -> None:
        raise LakeUnavailable("the first")

    job, query = job_whose_batch(refuse, spark, tmp_path), Query()
    progress = cast(LiveProgress, Progress(TopicMismatch("the second")))
    with pytest.raises(Stopped) as raised:
        job.on_batch(spark, 0, progress)
    assert "the first" not in "".join(format_exception(raised.value)), "so long may it be that Spark fails on it"
    query.commits.set()
    with pytest.raises(LakeUnavailable, match="the first"):
        job.follow(cast(Any, query), progress)
    assert query.ends == ["committed"]


def test_batch_that_fails_after_something_beside_it_has_failed_hides_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch, query = WaitingBatch(LakeUnavailable("the second")), Query()
    job, progress = job_whose_batch(batch, spark, tmp_path), Progress(TopicMismatch("the first"))
    with ThreadPoolExecutor(2) as pool:
        under_way = pool.submit(job.on_batch, spark, 0, cast(LiveProgress, progress))
        assert batch.begins.wait(20)
        end = following(job, query, progress, pool)
        assert stays_open(end), "until the batch has ended"
        batch.ends.set()
        assert isinstance(under_way.exception(timeout=20), Stopped)
        query.commits.set()
        with pytest.raises(TopicMismatch, match="the first"):
            end.result(timeout=20)


def test_job_whose_java_is_gone_waits_for_what_its_batch_still_does(spark: SparkSession, tmp_path: Path) -> None:
    batch, query = WaitingBatch(ConnectionRefusedError()), Query()
    job = job_whose_batch(batch, spark, tmp_path)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(job.on_batch, spark, 0, cast(LiveProgress, Progress()))
        assert batch.begins.wait(20)
        query.has_java = False
        end = following(job, query, Progress(), pool)
        assert stays_open(end)
        batch.ends.set()
        with pytest.raises(ConnectionRefusedError):
            end.result(timeout=20)


def test_nothing_is_brought_up_after_a_batch_that_failed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of its tables may be ahead of others."""
    run(new_lake(spark, str(tmp_path / "lake")), spark, PACK.records, BATCHES, catch_up=lambda _: None)
    write_checkpoint(tmp_path / "lake", BATCHES)
    job, nobody = job_of(spark, tmp_path), cast(LiveProgress, None)
    job.runner.prepare()
    monkeypatch.setattr(live_job, "IDLE_SECONDS", 0.0)
    job.runner.schedule.restart(is_due=True)
    fails(job, LakeUnavailable("in a batch"))
    job.when_quiet(nobody)
    newest = Ledger(job.runner.lake).last()
    assert newest
    assert newest.batch_id == BATCHES[-1].batch_id


def test_batch_that_takes_too_long_is_cut_off_by_a_stop_and_a_delegated_command_is_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_job, "STOP_GRACE_SECONDS", 0.0)
    stop = threading.Event()
    stop.set()
    query = Query()
    job_of(spark, tmp_path, stop).follow(cast(Any, query), cast(LiveProgress, Progress()))
    assert query.ends == ["cut off"]

    begins, query, stop = threading.Event(), Query(), threading.Event()
    settings = Settings(home=tmp_path, lake=str(tmp_path / "lake"))

    def promote(*_: object) -> Promoted:
        begins.set()
        assert query.commits.wait(20)
        raise Stopped

    handover = FakeHandover(settings, ReplayPromote(replay_id="fix"))
    write_checkpoint(tmp_path / "lake", BATCHES[:1], cut_off=True)
    busy = LiveJob(live_runner(spark, settings), settings, handover, promote, stop)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(busy.on_batch, spark, 0, cast(LiveProgress, Progress()))
        assert begins.wait(20)
        stop.set()
        end = following(busy, query, Progress(), pool)
        assert stays_open(end)
        query.commits.set()
        end.result(timeout=20)
    assert query.ends == ["committed"]


def test_batch_that_a_stop_cuts_off_is_no_failure(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_job, "STOP_GRACE_SECONDS", 0.0)
    query, stop = Query(), threading.Event()
    batch = WaitingBatch(RuntimeError("Job 22 cancelled: the query was stopped"))
    job = job_whose_batch(batch, spark, tmp_path, stop)
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(job.on_batch, spark, 0, cast(LiveProgress, Progress()))
        assert batch.begins.wait(20)

        def cancel() -> None:
            batch.ends.set()
            assert isinstance(under_way.exception(timeout=20), Stopped)

        monkeypatch.setattr(query, "stop", cancel)
        stop.set()
        job.follow(cast(Any, query), cast(LiveProgress, Progress()))


def test_batch_that_ends_before_it_begins_is_not_begun(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark plans it where the log has become shorter than what was read."""
    last = BATCHES[-1]
    ranges = tuple(replace(part, end=part.start - 1) if part.start else part for part in last.ranges)
    write_checkpoint(tmp_path / "lake", [*BATCHES[:-1], replace(last, ranges=ranges)], cut_off=True)
    job, query = job_of(spark, tmp_path), Query()
    with pytest.raises(Stopped):
        job.on_batch(spark, last.checkpoint_batch_id, cast(LiveProgress, None))
    query.commits.set()
    with pytest.raises(LogTruncated, match="ends at offset"):
        job.follow(cast(Any, query), cast(LiveProgress, Progress()))


def test_records_that_are_gone_under_a_job_are_named_by_their_offsets(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark says less; where the log cannot be asked, that is all there is."""
    job, of_spark = job_of(spark, tmp_path), RuntimeError("OffsetOutOfRange, in a trace of a hundred lines")
    run(new_lake(spark, str(tmp_path / "lake")), spark, PACK.records, BATCHES, catch_up=lambda _: None)
    job.runner.last = Ledger(job.runner.lake).last()
    assert job.runner.last
    reached = job.runner.last.end_offsets
    gone = {topic: {number: end + 7 for number, end in ends.items()} for topic, ends in reached.items()}
    for bound in ("begin_offsets", "end_offsets"):
        monkeypatch.setattr(live_job, bound, lambda *_: gone)
    with pytest.raises(LogTruncated, match=r"/0 begins at offset (\d+), but \d+ is the next .* lost 7 records"):
        _fails(job, of_spark)
    with pytest.raises(ZeroDivisionError):
        _fails(job, ZeroDivisionError())

    def nobody(*_: object) -> None:
        raise BrokerUnavailable("nobody answers")

    monkeypatch.setattr(live_job, "begin_offsets", nobody)
    with pytest.raises(RuntimeError, match="OffsetOutOfRange"):
        _fails(job, of_spark)


def _fails(job: LiveJob, error: Exception) -> None:
    with job.naming_lost_records():
        raise error
