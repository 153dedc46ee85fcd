"""`pts replay build`: the log through the code of today, into tables of its own. The live job may go on beside it."""

import os
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pipelines.commands import ReplayBuild
from pipelines.engine.batch import END_OF_DEFERRAL, Batch
from pipelines.engine.runner import LakeJob, told
from pipelines.engine.stitched_log import StitchedLog
from pipelines.errors import Interrupted, InvalidInput, LakeMismatch, NotCompared
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, OffsetRange, ranges_between
from pipelines.io.processes.pid_lock import holder
from pipelines.io.processes.signals import signals_ask_to_stop
from pipelines.io.spark.spark_job import spark_job
from pipelines.maintenance.expire import let_go
from pipelines.replay.plan import plan_until
from pipelines.replay.progress import BuildProgress
from pipelines.settings import Settings
from pipelines.state.code_version import fingerprint
from pipelines.state.lake_choices import wires
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Replay, Replays
from pipelines.state.snapshots import snapshot
from pipelines.state.writer_lease import lock_file

WAIT_SECONDS = 2.0


def run(command: ReplayBuild, settings: Settings) -> Replay:
    """Builds the shadow up to its fence, or goes on where it was cut off; done at once when it stands there already.

    Raises:
        InvalidInput: The replay has another fence; or its tables were built by other code.
        Interrupted: It was asked to stop. The next call goes on.
        And what `pts replay plan` raises.
    """
    replays = Replays(settings.lake_root)
    root = replays.root(command.replay_id)
    with replays.one_at_a_time(), signals_ask_to_stop() as stop:
        replay = _begun(command, replays, settings)
        with spark_job(settings, f"replay {replay.replay_id}") as spark:
            job = ReplayJob(spark, settings, replay, root)
            job.run(stop)
            if job.is_done and replay.built is None:
                assert job.last is not None
                replay = replay.model_copy(update={"built": job.last.batch_id})
                replays.save(replay)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and not job.is_done:
        raise Interrupted(f"The replay was stopped at a batch boundary. `pts {' '.join(command.argv())}` goes on.")
    return replay


def _begun(command: ReplayBuild, replays: Replays, settings: Settings) -> Replay:
    code = fingerprint()
    known = {replay.replay_id: replay for replay in replays.all()}
    if found := known.get(command.replay_id):
        if command.fence not in (None, found.fence):
            raise InvalidInput(
                f"The replay {found.replay_id} has its fence at batch {found.fence}, not {command.fence}: use another "
                "name."
            )
        if found.code != code:
            raise InvalidInput(
                f"The replay {found.replay_id} was begun by other code: its tables would be of two kinds. "
                f"`pts replay drop {found.replay_id}`, or use another name."
            )
        return found
    plan = plan_until(snapshot(settings.lake_root, command.fence), settings)
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


class ReplayJob(LakeJob):
    """The lake of a replay, and where it is on its way.

    Raises `NotCompared` where other code, or settings that read the log in another way, would go on with it.
    """

    def __init__(self, spark: SparkSession, settings: Settings, replay: Replay, root: str) -> None:
        super().__init__(spark, settings, root)
        if replay.code != fingerprint():
            raise NotCompared(f"The replay {replay.replay_id} was begun by other code: build another.")
        if replay.formats and replay.formats != (here := told(self._wires)):
            raise NotCompared(
                f"The replay {replay.replay_id} has read the log as {_listed(replay.formats)}; here it would go on as "
                f"{_listed(here)}. Give all commands and the live job the same PTS_KAFKA__ settings."
            )
        self._replay = replay
        self._batches = list(replay.batches())
        self._kafka_begin = begin_offsets(Connection.of(settings), replay.begin)

    def _log(self, spark: SparkSession) -> StitchedLog:
        kafka = KafkaLog(spark, Connection.of(self._settings), self._group)
        return StitchedLog(kafka, self._kafka_begin, Lake(spark, self._settings.lake_root))

    def _planner(self) -> str:
        return self._replay.replay_id

    def _next(self) -> int:
        return self.last.checkpoint_batch_id + 1 if self.last else 0

    def _cut_off(self) -> int | None:
        return self._next() if self._next() < len(self._batches) else None

    def _check_planner(self) -> None:
        if self.last and self.last.checkpoint_id != self._replay.replay_id:
            raise LakeMismatch(
                f"The tables in {self.lake.root} are those of {self.last.checkpoint_id}. "
                f"`pts replay drop {self._replay.replay_id}`."
            )

    @property
    def is_done(self) -> bool:
        """Whether all tables stand at the fence."""
        if self.last is None or self._cut_off() is not None:
            return False
        return all(state.position == self.last.batch_id for state in self.last.tables.values())

    def run(self, stop: threading.Event | None = None, *, is_last_part: bool = False) -> None:
        """Runs what is left of the batches, until `stop` is set.

        Args:
            stop: Ends it after a batch.
            is_last_part: The live job waits for it: tables that follow stay where they are, but for large ones that
                wait, and nobody is told how far it is.
        """
        stop = stop or threading.Event()
        self.prepare()
        with BuildProgress(sum(_size(ranges) for _, ranges in self._batches), is_quiet=is_last_part) as progress:
            progress.skipped(sum(_size(ranges) for _, ranges in self._batches[: self._next()]))
            while (number := self._cut_off()) is not None and not stop.is_set():
                self._let_go_after(self._batches[number][0])
                self._wait_for_live(stop)
                if stop.is_set():
                    break
                began = time.monotonic()
                row = self._run(self._planned(number, is_last_part=is_last_part), self._spark)
                progress.batch_done(row, _size(row.ranges), time.monotonic() - began)
        if not stop.is_set() and not is_last_part:
            self._let_go_after(len(self._replay.steps))
            self.catch_up()

    def _planned(self, number: int, *, is_last_part: bool) -> Batch:
        return Batch(
            batch_id=self.last.batch_id + 1 if self.last else 0,
            checkpoint_id=self._replay.replay_id,
            checkpoint_batch_id=number,
            ranges=self._batches[number][1],
            started_at=datetime.now(UTC),
            writer=self._replay.replay_id,
            following=END_OF_DEFERRAL if is_last_part else self._cycle.next(self.last),
            rebuilds=self._rebuilds,
        )

    def _let_go_after(self, step: int) -> None:
        """What the live lake let go at the end of the steps before this one."""
        limits = {name: limit for each in self._replay.steps[:step] for name, limit in each.expired_before.items()}
        if self.last is None or all(self.last.tables[name].expired_before == limit for name, limit in limits.items()):
            return
        self.catch_up()
        let_go(limits, self.last, self.lake, Ledger(self.lake))
        self.prepare()

    def _wait_for_live(self, stop: threading.Event) -> None:
        """While the live job is far behind, it has the machine for itself."""
        while not stop.is_set() and self._lag() > self._settings.replay.wait_above_lag:
            stop.wait(WAIT_SECONDS)

    def _lag(self) -> int:
        """Records between the live job and the log's end, while the job runs; none while it waits for this process."""
        root = self._settings.lake_root
        if holder(lock_file(root)) in (None, os.getpid()):
            return 0
        last = Ledger(Lake(self._spark, root)).last()
        if last is None:
            return 0
        return _size(ranges_between(last.end_offsets, end_offsets(Connection.of(self._settings), last.end_offsets)))


def _size(ranges: Iterable[OffsetRange]) -> int:
    return sum(part.size for part in ranges)


def _listed(formats: Mapping[str, str]) -> str:
    return ", ".join(f"{topic}: {name}" for topic, name in sorted(formats.items()))
