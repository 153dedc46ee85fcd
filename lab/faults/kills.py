"""Processes that the kernel kills, at a moment that the seed draws."""

import subprocess
import time
from pathlib import Path

from lab.faults.auditor import Wrong
from lab.faults.gaps import data_files, without_commit
from lab.faults.scene import BURST_RATE, Scene
from pipelines.errors import JavaEnded, LakeMismatch
from pipelines.graph import FLOWS
from pipelines.state.replay_records import Replays
from pipelines.tables import OPS_BATCHES
from tests.integration.pts_process import wait_until
from tests.window_bug import WINDOW_TABLES

BATCH_MOMENTS = 120
"""Moments of about the first three batches of a job."""

ROUND_MOMENTS = 600
"""Of so many batches that the catch-up tables have come up with the others, and readers saw it."""

MOMENTS_OF_TASKS = 240
"""The same of batches of several tasks: each takes so long that one group or another of what follows is due in it."""

COMMAND_MOMENTS = 40
MOST_KILLS = 6
TASK_KILLS = 4, 10
TASK_SECONDS = 1.5
"""Most, from one kill of tasks to the next: a batch under the load of a case takes about as long."""
MOST_TRIES = 12
FILE_SECONDS = 300.0
"""How long a file of a table may take to come, while other cases run."""
WRITTEN_BY_BATCHES = tuple(dict.fromkeys(table.folder for table in (*(flow.into for flow in FLOWS), OPS_BATCHES)))
"""Folders of tables."""

INTERVAL = ("--from", "2026-01-01", "--to", "2026-01-08")
EXPECTED = tuple(part for name in WINDOW_TABLES for part in ("--expect", name))


def job(scene: Scene) -> None:
    """The live job, again and again: at a write, between tables, between ledger and checkpoint; soon or late in its
    life.
    """
    with scene.auditor.watching():
        with scene.load():
            kill_at_moments(scene)
        scene.judge()


def kill_at_moments(scene: Scene) -> None:
    """The live job dies some ms after one of its moments, under a load, some times."""
    time.sleep(2)
    for _ in range(scene.chance.randint(2, 4)):
        scene.as_large = scene.chance.choice((False, True))
        round_moments = MOMENTS_OF_TASKS if scene.as_large else ROUND_MOMENTS
        assert scene.killed("stream", moments=scene.chance.choice((BATCH_MOMENTS, round_moments)))
    scene.as_large = False


def job_before_commit(scene: Scene) -> None:
    """The live job, when it has written a table's file and no commit names it yet: one table after another."""
    scene.sent(2)
    scene.done("stream", "--drain")  # so that every table has its folder
    with scene.auditor.watching():
        with scene.load():
            for table in scene.chance.sample(WRITTEN_BY_BATCHES, 3):
                scene.as_large = scene.chance.choice((False, True))
                _killed_before_commit(scene, f"{scene.root}/{table}")
        scene.judge()


def _killed_before_commit(scene: Scene, table: str) -> None:
    """A commit may be faster than the signal: again then, until a file is there that no version names."""
    for _ in range(MOST_TRIES):
        there = data_files(table)
        with scene.pts("stream") as (process, log):
            deadline = time.monotonic() + FILE_SECONDS
            while not data_files(table) - there:
                assert process.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < deadline, log.read_text()[-3000:]
            scene.kill(process, log)
        if without_commit(table) - there:
            return
    raise AssertionError(f"{MOST_TRIES} kills were all too late for a file of {table} without a commit")


def job_at_any_time(scene: Scene) -> None:
    """The live job, at a time of the clock: also while it starts, and in the middle of what Spark and Java do."""
    with scene.auditor.watching():
        with scene.load():
            for _ in range(scene.chance.randint(2, 4)):
                kill_at_any_time(scene)
        scene.judge()


def kill_at_any_time(scene: Scene) -> None:
    """The live job, or it and its Java, dies at a time of the clock."""
    with scene.pts("stream") as started:
        time.sleep(scene.chance.uniform(1, 25))
        scene.kill(*started, with_java=scene.chance.choice((True, False)))


def task(scene: Scene) -> None:
    """The Python processes of the live job's tasks, one of them or all, while it runs: the tasks are tried again."""
    scene.as_large = True
    with scene.auditor.watching():
        with scene.load(BURST_RATE), scene.pts("stream") as (live, log):
            scene.await_batch(log, live)
            for _ in range(scene.chance.randint(*TASK_KILLS)):
                time.sleep(scene.chance.uniform(0, TASK_SECONDS))
                scene.kill_tasks(live)
            scene.ends_well(live, log, JavaEnded)
        assert scene.auditor.fault_count, "no process of a task was found"
        scene.as_large = False
        scene.judge()


def promotion(scene: Scene) -> None:
    """A promotion that corrects windows: the command dies, until it is done. Readers see all windows wrong, or none."""
    wrong_windows(scene)
    with scene.auditor.watching(Wrong.ALL):
        scene.done("replay", "build", "fix")
        scene.done("replay", "compare", "fix", *EXPECTED)
        _killed_until_done(scene, "replay", "promote", "fix", moments=COMMAND_MOMENTS)
    with scene.auditor.watching():
        scene.sent(2)
        scene.judge()


def promotion_by_the_job(scene: Scene) -> None:
    """The same beside a live job, which dies in the middle of its part. Who waits for it does that part then, unless a
    batch was cut off: that is for the next start.
    """
    wrong_windows(scene)
    scene.done("replay", "build", "fix")
    scene.done("replay", "compare", "fix", *EXPECTED)
    with scene.auditor.watching(Wrong.ALL), scene.load(rate=50):
        with scene.pts("stream") as (live, log):
            scene.await_batch(log, live)
            with scene.pts("replay", "promote", "fix") as (waiting, said):
                _await_promotion(scene, waiting, said)
                time.sleep(scene.chance.uniform(0, 1.5))
                scene.kill(live, log, in_batch=False)
                code = waiting.wait(timeout=300)
                assert code in {0, LakeMismatch.exit_code}, f"code {code}\n{said.read_text()[-3000:]}"
        if code:
            scene.done("stream", "--drain")
        scene.done("replay", "promote", "fix")
    with scene.auditor.watching():
        scene.judge()


def _await_promotion(scene: Scene, command: subprocess.Popen[bytes], said: Path) -> None:
    """Until it is under way; a command that has ended by then has done nothing of it."""

    def has_begun() -> bool:
        assert command.poll() is None, said.read_text(encoding="utf-8")[-3000:]
        return bool(Replays(scene.root).load("fix").promotions)

    wait_until(has_begun, said)


def backfill(scene: Scene) -> None:
    """A backfill of wrong windows, which dies until it is done."""
    wrong_windows(scene)
    with scene.auditor.watching(Wrong.SOME):
        _killed_until_done(scene, "backfill", *INTERVAL, moments=COMMAND_MOMENTS // 4)
    with scene.auditor.watching():
        scene.sent(2)
        scene.judge()


def compaction(scene: Scene) -> None:
    """Compactions beside the live job, of tables that have many small commits."""
    scene.records_per_batch = 150
    scene.sent(8)
    scene.done("stream", "--drain")
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (live, log):
            scene.await_batch(log, live)
            _killed_until_done(scene, "compact", moments=COMMAND_MOMENTS)
            scene.stop(live, log)
        scene.judge()


def _killed_until_done(scene: Scene, *command: str, moments: int) -> None:
    """Kills a command once at least: after a moment beyond its last, which it outlives, an earlier one is drawn."""
    while not scene.killed(*command, moments=moments):
        moments //= 2
    for _ in range(scene.chance.randint(0, MOST_KILLS - 1)):
        if not scene.killed(*command, moments=moments):
            break
    began = time.monotonic()
    scene.done(*command)
    scene.auditor.note_finished(time.monotonic() - began)


def wrong_windows(scene: Scene) -> None:
    """Has a job with a bug write them."""
    scene.sent(6)
    with_bug(scene, "stream", "--drain")


def with_bug(scene: Scene, *command: str) -> None:
    """A command of ours that writes wrong windows."""
    process, log = scene.start("lab.faults.with_bug", *command)
    assert process.wait(timeout=300) == 0, log.read_text()[-3000:]
