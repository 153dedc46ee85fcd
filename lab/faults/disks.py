"""A disk that is full or can only be read: a small file system of memory, which is mounted for the case."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lab.faults.brokers import BROKER_ERRORS
from lab.faults.gaps import CHECKPOINT
from lab.faults.kills import WRITTEN_BY_BATCHES
from lab.faults.obeying import CAN_OBEY
from lab.faults.scene import NotPermitted, Scene
from pipelines import commands
from pipelines.errors import LakeUnavailable
from pipelines.live import topics
from pipelines.stack import stack

LAKE_BYTES = 96 * 2**20
BROKER_BYTES = 64 * 2**20
FULL_SECONDS = 60.0
LEFT_KIB = 400
"""Most that is left when the disk is filled: a batch of the campaign is larger."""
FULL = "The disk is full"
BLOCK_BYTES = 4096
"""Of which such a file system is made; a small file takes one."""


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes. Raises `NotPermitted`."""
    folder.mkdir(parents=True, exist_ok=True)
    with _mount("-t", "tmpfs", "-o", f"size={size}", "none", folder):
        yield


@contextmanager
def moved_to_own_disk(folder: Path) -> Iterator[None]:
    """What is in a folder of the lake is on such a file system from now on."""
    kept = folder.with_name(f"{folder.name}-before")
    folder.rename(kept)
    with mounted(folder, LAKE_BYTES):
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)
        yield


@contextmanager
def moved_elsewhere(folder: Path, elsewhere: Path) -> Iterator[None]:
    """What is in a folder of the lake is in another from now on, on that one's file system."""
    shutil.copytree(folder, elsewhere)
    with _mount("--bind", elsewhere, folder):
        yield


@contextmanager
def _mount(*arguments: str | Path) -> Iterator[None]:
    """Raises `NotPermitted`. The last argument is the folder."""
    may_mount = sys.platform.startswith("linux") and os.geteuid() == 0
    if not may_mount or subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode:
        raise NotPermitted("this machine does not permit to mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", arguments[-1]], check=True)


def fill(folder: Path, left: int) -> Path:
    """Takes all but so many bytes."""
    ballast, free = folder / "ballast", os.statvfs(folder)
    ballast.write_bytes(bytes(max(free.f_bavail * free.f_frsize - left, 0)))
    return ballast


def full_for_the_job(scene: Scene) -> None:
    """No room for data, log or checkpoint, wherever it runs out: the job ends by name; with room again it goes on."""
    with mounted(scene.lake, LAKE_BYTES), scene.auditor.watching(may_be_away=True):
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            ballast = fill(scene.lake, 1024 * scene.chance.randint(0, LEFT_KIB))
            scene.ends_by_name(process, log, LakeUnavailable, says=FULL)
            scene.auditor.note_fault()
            ballast.unlink()
        scene.judge()


def full_for_data(scene: Scene) -> None:
    """The same of the data files of a table alone: its log and all else have room."""
    _make_tables(scene)
    table = scene.lake / scene.chance.choice(WRITTEN_BY_BATCHES)
    scene.as_large = scene.chance.choice((False, True))
    with moved_to_own_disk(table), moved_elsewhere(table / "_delta_log", scene.folder / "log"):
        _full(scene, table)


def full_for_a_log(scene: Scene) -> None:
    """The same of a table's log alone: its data files are there, and no commit can name them."""
    _make_tables(scene)
    log = scene.lake / scene.chance.choice(WRITTEN_BY_BATCHES) / "_delta_log"
    scene.as_large = scene.chance.choice((False, True))
    with moved_to_own_disk(log):
        _full(scene, log)


def full_for_offsets(scene: Scene) -> None:
    """The same of what Spark keeps of the query alone: which offsets a batch has, and that it is done."""
    _make_tables(scene)
    checkpoint = scene.lake / CHECKPOINT
    with moved_to_own_disk(checkpoint):
        _full(scene, checkpoint)


def full_for_a_compaction(scene: Scene) -> None:
    """The same of a table's log for a compaction that writes its checkpoint: it ends by name, and again goes on."""
    scene.records_per_batch = 150  # for more than ten commits
    _make_tables(scene)
    log = scene.lake / "gold" / "remaining_stops" / "_delta_log"
    with moved_to_own_disk(log), scene.auditor.watching():
        ballast = fill(log, BLOCK_BYTES * scene.chance.randint(0, 2))
        scene.refused("compact", code=LakeUnavailable.exit_code, says=FULL)
        scene.auditor.note_fault()
        assert not list(log.glob("*.checkpoint.parquet"))
        ballast.unlink()
        scene.done("compact")
        assert list(log.glob("*.checkpoint.parquet"))
        scene.sent(1)
        scene.judge()


def _make_tables(scene: Scene) -> None:
    """So that each folder of the lake is there."""
    scene.sent(8)
    scene.done("stream", "--drain")


def _full(scene: Scene, folder: Path) -> None:
    """A disk has no room for more than two small files when there is something to write."""
    with scene.auditor.watching():
        with scene.pts("stream") as (process, log):
            scene.await_heartbeat(process, log)
            ballast = fill(folder, BLOCK_BYTES * scene.chance.randint(0, 2))
            with scene.load():
                scene.ends_by_name(process, log, LakeUnavailable, says=FULL)
            scene.auditor.note_fault()
            ballast.unlink()
        scene.judge()


def full_for_the_broker(scene: Scene) -> None:
    """No room for the log: the broker ends, and what it had acknowledged is there when it has room again."""
    folder = scene.settings.home / "kafka"
    stack.stop(scene.settings, lambda _: None)
    shutil.rmtree(folder)
    with mounted(folder, BROKER_BYTES):
        scene.start_broker()
        topics.run(commands.Topics(), scene.settings)
        with scene.auditor.watching():
            with scene.load(), scene.pts("stream") as (process, log):
                scene.await_batch(log, process)
                ballast = fill(folder, 1024 * scene.chance.randint(0, LEFT_KIB))
                deadline = time.monotonic() + FULL_SECONDS
                while scene.has_broker and time.monotonic() < deadline:
                    time.sleep(0.5)
                assert not scene.has_broker, "the disk was never full"
                ballast.unlink()
                scene.auditor.note_fault()
                scene.start_broker()
                time.sleep(scene.chance.uniform(1, 5))
                scene.ends_well(process, log, *BROKER_ERRORS)
            scene.judge()
        stack.stop(scene.settings, lambda _: None)


def read_only(scene: Scene) -> None:
    """The lake can no longer be written, as after an error of the disk; then it can again."""
    scene.lake.mkdir()
    _refused_while(only_readable(scene.lake), scene)


def permission_lost(scene: Scene) -> None:
    """The user of the job may no longer write, or not even read; then it may again."""
    scene.obeys_permissions = True
    _refused_while(without_permission(scene.lake, scene.chance.choice((0o555, 0o000))), scene)


def _refused_while(fault: AbstractContextManager[None], scene: Scene) -> None:
    """The job that runs ends by name, the next start does; after the fault it goes on."""
    with scene.auditor.watching(may_be_away=True):
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            time.sleep(scene.chance.uniform(0, 2))
            with fault:
                scene.ends_by_name(process, log, LakeUnavailable, says="The lake")
                scene.refused("stream", "--drain", code=LakeUnavailable.exit_code, says="The lake")
            scene.auditor.note_fault()
        scene.judge()


@contextmanager
def without_permission(folder: Path, mode: int) -> Iterator[None]:
    """Gives a folder and those within it these permissions. Raises `NotPermitted`."""
    if not CAN_OBEY:
        raise NotPermitted("this user is above permissions, and the machine does not let it be otherwise")
    before = {path: path.stat().st_mode for path in (folder, *folder.rglob("*")) if path.is_dir()}
    for path in sorted(before, reverse=True):  # the outer ones last: they lead to the others
        path.chmod(mode)
    try:
        yield
    finally:
        for path in sorted(before):
            path.chmod(before[path])


@contextmanager
def only_readable(folder: Path) -> Iterator[None]:
    """Mounts a folder over itself, so that whoever opens a file from now on may only read. Raises `NotPermitted`."""
    with _mount("--bind", folder, folder):
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
