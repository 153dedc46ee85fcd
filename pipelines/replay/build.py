"""`pts replay build`: the log through the code of today, into tables of its own. The live job may go on beside it."""

import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pipelines.code_version import fingerprint
from pipelines.commands import ReplayBuild
from pipelines.engine.batch import END_OF_DEFERRAL
from pipelines.engine.runner import LakeRunner, told
from pipelines.engine.stitched_log import StitchedLog
from pipelines.errors import Interrupted, InvalidInput, LakeMismatch, NotCompared
from pipelines.graph import FLOWS, Flow
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, OffsetRange, ranges_between
from pipelines.io.spark.spark_job import spark_job
from pipelines.maintenance.expire import apply_expiry
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.progress import ReplayBegun, ReplayedBatch, ReplayEnded, report
from pipelines.replay.plan import plan_until
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.replay_records import Replay, Replays, Step
from pipelines.state.snapshots import snapshot
from pipelines.state.writer_lease import writer

WAIT_SECONDS = 2.0


def run(command: ReplayBuild, settings: Settings, flows: Sequence[Flow] = FLOWS) -> Replay:
    """Builds the shadow up to its as-of batch, or goes on where it was cut off; returns at once when it is there.

    Raises:
        InvalidInput: The replay has another as-of batch; or its tables were built by other code.
        Interrupted: It was asked to stop. The next call goes on.
        And what `pts replay plan` raises.
    """
    replays = Replays(settings.lake_root)
    root = replays.root(command.replay_id)
    with replays.one_at_a_time(), signals_ask_to_stop() as stop:
        replay = _begun(command, replays, settings)
        if replay.built is None:
            with spark_job(settings, f"replay {replay.replay_id}") as spark:
                job = ReplayJob(spark, settings, replay, root, flows)
                job.run(stop)
                last = job.runner.last
                if job.is_done and last:
                    replay = replay.model_copy(update={"built": last.batch_id})
                    replays.save(replay)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and replay.built is None:
        raise Interrupted(f"The replay was stopped at a batch boundary. `pts {' '.join(command.argv())}` goes on.")
    return replay


def _begun(command: ReplayBuild, replays: Replays, settings: Settings) -> Replay:
    code = fingerprint()
    known = {replay.replay_id: replay for replay in replays.all()}
    if replay := known.get(command.replay_id):
        if command.at_batch not in (None, replay.fence):
            raise InvalidInput(
                f"The replay {replay.replay_id} is as of batch {replay.fence}, not {command.at_batch}: "
                "use another name."
            )
        if replay.code != code:
            raise InvalidInput(
                f"The replay {replay.replay_id} was begun by other code: its tables would be of two kinds. "
                f"`pts replay drop {replay.replay_id}`, or use another name."
            )
        return replay
    plan = plan_until(snapshot(settings.lake_root, command.at_batch), settings)
    replays.clear(command.replay_id)  # what is left of one whose drop was cut off
    replay = Replay(
        replay_id=command.replay_id,
        created_at=datetime.now(UTC),
        fence=plan.fence,
        begin=plan.begin,
        steps=plan.steps,
        max_records=settings.replay.max_records_per_batch,
        code=code,
        formats=told(wires(settings)),
    )
    replays.save(replay)
    return replay


class ReplayPlanner:
    """Plans by the steps of a replay's record: the same batches at every start.

    Attributes:
        batches: The number of the step, and what is read.
    """

    def __init__(self, replay: Replay) -> None:
        self.batches = list(replay.batches())
        self._replay_id = replay.replay_id

    @property
    def identity(self) -> str:
        return self._replay_id

    def next(self, last: LedgerRow | None) -> int:
        """The number of the batch after the ledger's newest row."""
        return last.checkpoint_batch_id + 1 if last else 0

    def cut_off(self, last: LedgerRow | None) -> int | None:
        return self.next(last) if self.next(last) < len(self.batches) else None

    def check(self, last: LedgerRow | None) -> None:
        if last and last.checkpoint_id != self._replay_id:
            raise LakeMismatch(
                f"The tables of the replay {self._replay_id} are those of {last.checkpoint_id}. "
                f"`pts replay drop {self._replay_id}`."
            )


class ReplayJob:
    """A replay, brought along its way.

    Attributes:
        runner: Of its lake.

    Raises `NotCompared` where other code, or settings that read the log in another way, would go on with it.
    """

    def __init__(
        self, spark: SparkSession, settings: Settings, replay: Replay, root: str, flows: Sequence[Flow] = FLOWS
    ) -> None:
        if replay.code != fingerprint():
            raise NotCompared(f"The replay {replay.replay_id} was begun by other code: build another.")
        if replay.formats and replay.formats != (here := told(wires(settings))):
            raise NotCompared(
                f"The replay {replay.replay_id} has read the log as {_listed(replay.formats)}; here it would go on as "
                f"{_listed(here)}. Give all commands and the live job the same PTS_KAFKA__ settings."
            )
        connection, group = Connection.of(settings), f"pts-{uuid.uuid4()}"
        begin = begin_offsets(connection, replay.begin)

        def log(session: SparkSession) -> StitchedLog:
            return StitchedLog(KafkaLog(session, connection, group), begin, Lake(session, settings.lake_root))

        self._settings = settings
        self._steps = replay.steps
        self._planner = ReplayPlanner(replay)
        self.runner = LakeRunner(Lake(spark, root), self._planner, log, settings, flows)

    @property
    def is_done(self) -> bool:
        """Whether all tables are at the as-of batch."""
        last = self.runner.last
        if last is None or self._planner.cut_off(last) is not None:
            return False
        return all(state.position == last.batch_id for state in last.tables.values())

    def run(self, stop: threading.Event | None = None, *, is_last_part: bool = False) -> None:
        """Runs what is left of the batches, until `stop` is set.

        Args:
            stop: Ends it after a batch.
            is_last_part: The live job waits for it: catch-up tables stay where they are, but for large ones that
                wait, and nobody is told how far it is.
        """
        stop, runner, batches = stop or threading.Event(), self.runner, self._planner.batches
        runner.prepare()
        progress = _Progress([_size(ranges) for _, ranges in batches], self._planner.next(runner.last))
        with nullcontext() if is_last_part else progress:
            while (number := self._planner.cut_off(runner.last)) is not None and not stop.is_set():
                step, ranges = batches[number]
                self._expire_after(step)
                self._wait_for_live(stop)
                if stop.is_set():
                    break
                began = time.monotonic()
                row = runner.run(runner.batch(number, ranges, END_OF_DEFERRAL if is_last_part else None))
                if not is_last_part:
                    progress.batch_done(row, time.monotonic() - began)
        if not stop.is_set() and not is_last_part:
            self._expire_after(len(self._steps))
            runner.catch_up()

    def _expire_after(self, step: int) -> None:
        """What the live lake removed at the end of the steps before this one."""
        limits = {name: limit for past in self._steps[:step] for name, limit in past.expired_before.items()}
        runner = self.runner
        if runner.last is None:
            return
        if all(runner.last.tables[name].expired_before == limit for name, limit in limits.items()):
            return
        runner.catch_up()
        apply_expiry(limits, runner.last, runner.lake, Ledger(runner.lake))
        runner.prepare()

    def _wait_for_live(self, stop: threading.Event) -> None:
        """While the live job is far behind, it has the machine for itself."""
        while not stop.is_set() and live_lag(self.runner.spark, self._settings) > self._settings.replay.wait_above_lag:
            stop.wait(WAIT_SECONDS)


class _Progress:
    """Reports how far a replay is, from its beginning to its end.

    Args:
        sizes: Records of all batches.
        first: The batch with which this call begins.
    """

    def __init__(self, sizes: Sequence[int], first: int) -> None:
        self._total, self._before = sum(sizes), sum(sizes[:first])
        self._here = 0
        self._began = time.monotonic()

    def __enter__(self) -> None:
        report(ReplayBegun(self._total, self._before))

    def __exit__(self, *_: object) -> None:
        report(ReplayEnded())

    def batch_done(self, row: LedgerRow, seconds: float) -> None:
        records = _size(row.ranges)
        self._here += records
        done = self._before + self._here
        report(
            ReplayedBatch(
                batch_id=row.batch_id,
                records=records,
                duration_seconds=round(seconds, 2),
                records_done=done,
                records_left=self._total - done,
                records_per_second=self._here / (time.monotonic() - self._began),
            )
        )


def live_lag(spark: SparkSession, settings: Settings) -> int:
    """Records between the live job and the log's end, while the job runs; none while it waits for this process."""
    root = settings.lake_root
    job = writer(root)
    if job is None or job.is_me:
        return 0
    last = Ledger(Lake(spark, root)).last()
    if last is None:
        return 0
    return _size(ranges_between(last.end_offsets, end_offsets(Connection.of(settings), last.end_offsets)))


def caught_up(
    replay: Replay,
    last: LedgerRow,
    replays: Replays,
    spark: SparkSession,
    settings: Settings,
    *,
    is_last_part: bool = False,
) -> Replay:
    """The replay, brought to a row of the live ledger; in the last part without catch-up tables."""
    reached = replay.steps[-1].end if replay.steps else replay.begin
    if any(part.size for part in ranges_between(reached, last.end_offsets)):
        replay = replay.model_copy(
            update={"steps": (*replay.steps, Step(end=last.end_offsets, batch_id=last.batch_id))}
        )
        replays.save(replay)
    job = ReplayJob(spark, settings, replay, replays.root(replay.replay_id))
    job.run(is_last_part=is_last_part)
    return replay


def _size(ranges: Iterable[OffsetRange]) -> int:
    return sum(part.size for part in ranges)


def _listed(formats: Mapping[str, str]) -> str:
    return ", ".join(f"{topic}: {name}" for topic, name in sorted(formats.items()))
