"""Several who write at once: a second live job, and everything that may run beside the first."""

import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from lab.faults.auditor import Wrong
from lab.faults.clocks import DAY_SECONDS
from lab.faults.kills import INTERVAL, with_bug, wrong_windows
from lab.faults.scene import Scene
from pipelines.errors import AnotherWriter, LakeMismatch
from pipelines.processes.parent_death import end_holder
from pipelines.processes.pid_lock import holder
from tests.unneeded import leave_behind

TOGETHER_SECONDS = 600
FENCED = (LakeMismatch, AnotherWriter)
"""What ends a job when another one wrote its tables, or its checkpoint."""

BACKFILL = ("backfill", *INTERVAL)


def second_job(scene: Scene) -> None:
    """A second live job is refused: beside one that works, beside one that is frozen, and after its end it is not."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (first, log):
            scene.await_batch(log, first)
            scene.refused("stream", code=9, says=f"Process {first.pid} already writes the lake")
            first.send_signal(signal.SIGSTOP)
            scene.refused("stream", "--drain", code=9, says=f"Process {first.pid} already writes the lake")
            first.send_signal(signal.SIGCONT)
            time.sleep(scene.chance.uniform(0, 3))
            scene.kill(first, log)
            # at once, while the Java of the first may still do what it was told
            with scene.pts("stream") as (second, second_log):
                scene.await_batch(second_log, second)
                scene.stop(second, second_log)
        scene.judge()


def unseen_second_job(scene: Scene) -> None:
    """A second live job that the lock does not see, as from another machine: what is not refused is fenced.

    The lock file is deleted, so that each of the two holds one of its own. At least one of them is ended by what the
    other wrote, and says so; whatever they did until then, each record is there once.
    """
    with scene.auditor.watching():
        with scene.load():
            _unseen(scene)
        scene.judge()


def two_clocks(scene: Scene) -> None:
    """The same with the second job on a host whose clock is up to a day off; then each host alone, in turn."""
    off = scene.chance.choice((-1, 1)) * scene.chance.randint(60, DAY_SECONDS)
    with scene.auditor.watching():
        with scene.load():
            _unseen(scene, off)
            for scene.clock_off in (off, 0, off):
                scene.auditor.note_fault(is_outage=False)
                with scene.pts("stream") as (job, log):
                    scene.await_batch(log, job)
                    scene.stop(job, log)
                scene.done("compact")
        scene.clock_off = 0
        scene.judge()


def _unseen(scene: Scene, off_seconds: int = 0) -> None:
    with scene.pts("stream") as (first, first_log):
        scene.await_batch(first_log, first)
        (scene.lake / "_live.lock").unlink()
        scene.clock_off = off_seconds
        scene.auditor.note_fault(is_outage=False)
        with scene.pts("stream") as (second, second_log):
            scene.await_one_end(first, second)
            scene.ends_well(second, second_log, *FENCED)
        scene.ends_well(first, first_log, *FENCED)


def outlived_task(scene: Scene) -> None:
    """The worker of a backfill is killed; the backfill works on, or is frozen with the lake, and the live job that
    waits for it may be stopped. The retry begins beside it: it ends the other first.
    """
    wrong_windows(scene)
    pid_file = scene.folder / "task.pid"
    with scene.auditor.watching(Wrong.SOME), scene.load(), scene.pts("stream") as (live, log):
        scene.await_batch(log, live)
        try:
            first, said = scene.start("lab.faults.worker", str(pid_file), str(scene.chance.randint(1, 4)), *BACKFILL)
            code = first.wait(timeout=300)
            assert code == -signal.SIGKILL, f"code {code}\n{said.read_text()[-3000:]}"
            scene.auditor.note_fault()
            survivor = holder(pid_file)
            assert survivor, "the backfill ended with its worker"
            if scene.chance.choice((True, False)):
                os.killpg(survivor, signal.SIGSTOP)
                if scene.chance.choice((True, False)):
                    scene.stop(live, log)
            retry, said = scene.start("lab.faults.worker", str(pid_file), "0", *BACKFILL)
            code = retry.wait(timeout=300)
            assert code == 0, f"code {code}\n{said.read_text()[-3000:]}"
            assert f"ended process {survivor}" in said.read_text(), said.read_text()[-3000:]
        finally:
            end_holder(pid_file, patience_seconds=0)
        scene.stop(live, log)
    with scene.auditor.watching():
        scene.sent(2)
        scene.judge()


def together(scene: Scene) -> None:
    """Beside the stream and readers, two at a time: what spoils windows, corrects and checks them, and what cleans up.
    Readers see all windows wrong, or none.
    """
    scene.sent(2)
    scene.done("stream", "--drain")  # so that there is something to spoil
    with scene.auditor.watching(Wrong.ALL):
        with scene.load(), scene.pts("stream") as (live, log), ThreadPoolExecutor(2) as lanes:
            scene.await_batch(log, live)
            end, over = time.monotonic() + TOGETHER_SECONDS, threading.Event()

            def again_and_again(rounds: Callable[[], None]) -> None:
                try:
                    while not over.is_set() and time.monotonic() < end:
                        rounds()
                finally:
                    over.set()

            joined: list[str] = []
            rounds = (partial(_correct, scene), partial(_clean_up, scene, joined))
            for ended in [lanes.submit(again_and_again, each) for each in rounds]:
                ended.result()
            assert joined, "no compaction had files to join"
            scene.stop(live, log)
        scene.judge()


def _correct(scene: Scene) -> None:
    """A backfill with a bug, one without, which must find what that did, a rebuild, and a check of all."""
    with_bug(scene, *BACKFILL)
    found = json.loads(scene.done(*BACKFILL, "--json").splitlines()[-1])
    assert all(table["removed_count"] for table in found), found
    scene.done("rebuild", "gold.carrier_throughput")
    scene.done("verify")


def _clean_up(scene: Scene, joined: list[str]) -> None:
    """A compaction that has files to remove, and must; it notes whose files it joined."""
    unneeded = leave_behind(scene.root, uuid.uuid4().hex)
    found = json.loads(scene.done("compact", "--json").splitlines()[-1])
    joined += [table["table"] for table in found["tables"] if table["is_joined"]]
    assert not [file for file in unneeded if file.exists()]
