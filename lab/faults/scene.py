"""The environment of one case: a broker, a lake and processes of its own, all of them gone at the end."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from lab.benchmarks.processes import Process, descendants, processes
from lab.faults.auditor import Auditor
from lab.faults.gaps import OF_TASKS, Gaps
from pipelines import commands
from pipelines.errors import JavaEnded, PtsError
from pipelines.live import topics
from pipelines.settings import Profile
from pipelines.stack import stack
from pipelines.state.heartbeat import last_beat
from tests.brokers import embedded
from tests.integration.pts_process import settings_of, wait_until
from tests.stores import new_bucket, object_store, reached
from tests.unsteady_store import UnsteadyStore, unsteady

RATE = 100
"""Records per second, of which a job that is killed again and again gets through more than come in."""
BURST_RATE = 300
"""Of what is sent before anything happens."""
JUDGED_AT_ONCE = 100_000
"""Records per batch of the last drain."""
FOLLOW_SECONDS = 3
"""Pace of the windows: soon enough for a job that has not long to live, and for who reads meanwhile."""
LOADS_APART = 1_000_000
"""Between the seeds of two loads of a case, so that they meet no other case's."""
ONE_TASK = 0.75
"""How often one process of the tasks is killed, and not all of them."""
START_SECONDS = 120.0
STOP_SECONDS = 60.0
VICTIMS = {
    "": (-signal.SIGKILL,),
    "@both": (-signal.SIGKILL,),
    "@java": (JavaEnded.exit_code, -signal.SIGKILL),  # itself, when there was no Java
}
"""Who dies of a kill, as `tests.saboteur` is told, and the exit codes of the command."""

DELAY_MS = 40
"""Most, from a moment to a kill: delta-rs writes a few rows in such a time."""
DELAY_OF_TASKS_MS = 1_500
OF_DELTA_RS = re.compile(
    r"thread 'tokio-rt-worker' \(\d+\) panicked at [^\n]+\nAlready shut down\n(stack b[^\n]+\n)?note: [^\n]+\n"
)
"""What it says itself when the disk is full under a file that it writes, some times; its error comes after that."""


class NotPermitted(Exception):
    """What a case needs, and this machine does not have or does not let it do."""


class Scene:
    """What a fault happens to.

    Args:
        folder: Where everything is kept; shorter than the path of a socket may be.
        seed: What the case draws from.
        profile: Of the broker.
        in_store: Whether the lake is in an object store, and not in a folder.

    Attributes:
        chance: Draws the moments of the faults.
        settings: Of the stack.
        journal: What the load says was acknowledged.
        root: The lake's.
        store: Where the lake is, if not in a folder.
        records_per_batch: Most of them.
        zone: Time zone of the host, as the processes know it.
        host: Variables beside ours that the host sets for commands of ours.
        clock_off: Seconds by which the host's clock is ahead of the right one.
        obeys_permissions: Whether permissions of files bind the processes, also those of root.
        as_large: Whether batches are run as large ones are, in several tasks.
        auditor: The judge.
    """

    def __init__(self, folder: Path, seed: int, profile: Profile = "plain", *, in_store: bool = False) -> None:
        self.chance = random.Random(seed)
        self.seed = seed
        self.records_per_batch = 1_000
        self.zone = "UTC"
        self.host: dict[str, str] = {}
        self.clock_off = 0
        self.obeys_permissions = False
        self.as_large = False
        self.folder = folder
        self.journal = folder / "journal.csv"
        self.settings = embedded(folder / "home", profile)
        self.servers = self.settings.bootstrap_servers
        self.place_lake(str(folder / "lake"))
        self._in_store = in_store
        self.store: UnsteadyStore | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._log_numbers = count(1)
        self._load_count = 0

    def place_lake(self, root: str) -> None:
        """Has the lake there, before anybody has written it."""
        self.root = root
        self.settings = self.settings.model_copy(update={"lake": root})
        self.auditor = Auditor(root, self.settings, self.journal)
        self._gaps = Gaps(root)

    @property
    def lake(self) -> Path:
        """The lake's folder."""
        return Path(self.root)

    @contextmanager
    def open(self) -> Iterator["Scene"]:
        """With a broker that has the topics."""
        with self._lake_in_store() if self._in_store else nullcontext():
            yield from self._opened()

    @contextmanager
    def _lake_in_store(self) -> Iterator[None]:
        """The product alone meets what befalls the store: who judges it reaches what is behind."""
        with object_store(self.folder) as storage, unsteady(storage) as self.store, reached(storage):
            self.settings = self.settings.model_copy(update={"storage": self.store.storage})
            self.place_lake(f"{new_bucket(storage)}/lake")
            yield

    def _opened(self) -> Iterator["Scene"]:
        try:
            self.start_broker()
            topics.run(commands.Topics(), self.settings)
            yield self
        finally:
            for process in self._processes:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                    process.kill()
                process.wait()
            self.continue_broker()
            stack.stop(self.settings, lambda _: None)

    def start_broker(self) -> None:
        stack.start(["broker"], self.settings, lambda _: None)

    @property
    def broker_pid(self) -> int:
        pid = stack.services(self.settings)["broker"].pid
        assert pid is not None
        return pid

    def signal_broker(self, number: signal.Signals) -> None:
        """To its whole group: the process that holds its pid file has become Java itself."""
        os.killpg(self.broker_pid, number)

    @property
    def has_broker(self) -> bool:
        return stack.services(self.settings)["broker"].is_alive

    def continue_broker(self) -> None:
        if self.has_broker:
            self.signal_broker(signal.SIGCONT)

    def environment(self) -> dict[str, str]:
        return settings_of(
            self.settings,
            "lake",
            TZ=self.zone,
            PTS_LAKE=self.root,
            PTS_STREAM__MAX_RECORDS_PER_BATCH=str(self.records_per_batch),
            PTS_STREAM__FOLLOW_SECONDS=str(FOLLOW_SECONDS),
            PTS_REPLAY__MAX_RECORDS_PER_BATCH=str(2 * self.records_per_batch),
        )

    @property
    def _program(self) -> tuple[str, ...]:
        if self.obeys_permissions:
            return ("lab.faults.obeying", "pipelines.cli")
        return ("lab.faults.off_clock", str(self.clock_off)) if self.clock_off else self._in_tasks("pipelines.cli")

    def _in_tasks(self, module: str) -> tuple[str, ...]:
        return ("lab.faults.as_large", module) if self.as_large else (module,)

    def start(self, *module: str, host: Mapping[str, str] | None = None) -> tuple[subprocess.Popen[bytes], Path]:
        """A Python module as a process, perhaps with variables of the host, and its log."""
        log = self.folder / f"{next(self._log_numbers):03}.log"
        with log.open("wb") as out:
            environment = {**self.environment(), **(host or {})}
            process = subprocess.Popen(
                [sys.executable, "-m", *module], env=environment, stdout=out, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        return process, log

    @contextmanager
    def load(self, rate: float = RATE, *more: str, module: str = "lab.faults.load") -> Iterator[None]:
        """Sends records for as long as the block lasts; at its end all of them are acknowledged or given up.

        Each load has scans of its own, so what comes after a fault is not what came before it once more.
        """
        seed = str(self.seed + LOADS_APART * self._load_count)
        self._load_count += 1
        arguments = (str(self.journal), "--seed", seed, "--rate", str(rate), *more)
        process, log = self.start(module, *arguments)
        self.await_text("sending", log, process)
        try:
            yield
        finally:
            process.terminate()
        process.wait(timeout=300)
        assert process.returncode == 0, log.read_text()[-2000:]

    def sent(self, seconds: float) -> None:
        """Sends for so long."""
        with self.load(BURST_RATE):
            time.sleep(seconds)

    @contextmanager
    def pts(self, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A command of ours; killed at the end of the block if it still runs."""
        process, log = self.start(*self._program, *arguments, host=self.host)
        try:
            yield process, log
        finally:
            process.kill()
            process.wait()

    def done(self, *arguments: str, code: int = 0, seconds: float = 300) -> str:
        """What a command says that ends with this code."""
        process, log = self.start(*self._program, *arguments, host=self.host)
        process.wait(timeout=seconds)
        said = log.read_text()
        assert process.returncode == code, f"pts {' '.join(arguments)}: code {process.returncode}\n{said[-3000:]}"
        return said

    def refused(self, *arguments: str, code: int, says: str) -> str:
        """A command ends with this code and one sentence, which is returned."""
        told = sentence(self.done(*arguments, code=code))
        assert says in told, told
        return told

    def ends_by_name(
        self, process: subprocess.Popen[bytes], log: Path, *errors: type[PtsError], says: str = ""
    ) -> None:
        """A job that runs ends by itself with one of these errors, and one sentence."""
        code = process.wait(timeout=180)
        said = log.read_text(encoding="utf-8")
        assert code in {error.exit_code for error in errors}, f"code {code}\n{said[-3000:]}"
        assert says in sentence(said), said[-3000:]

    def killed(self, *arguments: str, moments: int) -> bool:
        """Runs a command that is killed some ms after one of so many moments, or its Java is, or both. Returns whether
        it was, or had ended.
        """
        delay_ms = self.chance.randint(0, DELAY_OF_TASKS_MS if self.as_large else DELAY_MS)
        moment = f"{self.chance.randint(1, moments)}+{delay_ms}"
        victim = self.chance.choice(list(VICTIMS))
        process, log = self.start(*self._in_tasks("tests.saboteur"), f"{moment}{victim}", *arguments)
        process.wait(timeout=900)
        if process.returncode == 0:
            return False
        assert process.returncode in VICTIMS[victim], log.read_text()[-3000:]
        said = log.read_text()
        assert sentence(said) if process.returncode == JavaEnded.exit_code else "Traceback" not in said, said[-3000:]
        is_job = arguments[0] == "stream"
        self.auditor.note_fault(self._gap() if is_job else None, is_outage=is_job)
        return True

    def _gap(self) -> str:
        return self._gaps.of_kill() + OF_TASKS * self.as_large

    def await_batch(self, log: Path, process: subprocess.Popen[bytes]) -> None:
        """Waits for a batch of a job that has just begun."""
        self.await_text('"batch_id"', log, process)

    def await_heartbeat(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Waits until a job that has just begun looks after the log, whether or not there is anything to read."""
        begun = datetime.now(UTC)

        def beats() -> bool:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            told = last_beat(self.root)
            return told is not None and told["at"] > begun

        wait_until(beats, log, START_SECONDS)

    def await_text(self, text: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        """Waits until a process has said it; one that has ended will not."""

        def is_there() -> bool:
            said = log.read_text(encoding="utf-8")
            assert text in said or process.poll() is None, said[-3000:]
            return text in said

        wait_until(is_there, log, START_SECONDS)

    def await_one_end(self, *processes: subprocess.Popen[bytes]) -> None:
        """Waits until one of them has ended by itself."""
        deadline = time.monotonic() + START_SECONDS
        while all(process.poll() is None for process in processes):
            assert time.monotonic() < deadline, "none of the processes ended"
            time.sleep(0.05)

    def stop(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Asks a job to stop, and waits."""
        process.terminate()
        assert process.wait(timeout=STOP_SECONDS) == 0, log.read_text(encoding="utf-8")[-3000:]
        assert "Traceback" not in log.read_text(encoding="utf-8"), log.read_text(encoding="utf-8")[-3000:]

    def ends_well(self, process: subprocess.Popen[bytes], log: Path, *errors: type[PtsError]) -> None:
        """A job still runs, and ends when it is asked to; or it ends by itself with one of these errors, and one
        sentence.
        """
        if process.poll() is None:
            process.terminate()
            if process.wait(timeout=STOP_SECONDS) == 0:
                assert "Traceback" not in log.read_text(encoding="utf-8"), log.read_text(encoding="utf-8")[-3000:]
                return
        self.ends_by_name(process, log, *errors)

    def kill(
        self, process: subprocess.Popen[bytes], log: Path, *, with_java: bool = False, in_batch: bool = True
    ) -> None:
        """A fault: SIGKILL of the live job, at a batch or at something else. Its Java ends by itself then, or is killed
        first.
        """
        assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
        for each in processes().values() if with_java else ():
            if each.parent == process.pid:
                os.kill(each.identity[0], signal.SIGKILL)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.auditor.note_fault(self._gap() if in_batch else None)

    def kill_tasks(self, job: subprocess.Popen[bytes]) -> None:
        """A fault, if a live job still runs: SIGKILL of one Python process that does tasks of it, or of all, with the
        one that starts them.
        """
        there = task_processes(job.pid)
        doing = [each for each in there if each.identity[0] not in {other.parent for other in there}]
        for each in [self.chance.choice(doing)] if doing and self.chance.random() < ONE_TASK else there:
            with suppress(ProcessLookupError):
                os.kill(each.identity[0], signal.SIGKILL)
        if there:
            self.auditor.note_fault(is_outage=False)

    def judge(self) -> None:
        """Takes in all that was sent, and has everything compared with the log."""
        self.records_per_batch = JUDGED_AT_ONCE
        self.done("stream", "--drain")
        self.auditor.judge()
        self.done("verify")


def task_processes(job: int) -> list[Process]:
    """Those that do tasks of a job, and the one that has started them."""
    return [each for each in descendants(job, processes(), set()) if is_of_tasks(each.identity[0])]


def is_of_tasks(pid: int) -> bool:
    try:
        return b"pipelines.engine.task_daemon" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended meanwhile
        return False


def sentence(said: str) -> str:
    """The one by which a command told its error. Raises `AssertionError` when it said anything else."""
    found = complaints(said)
    assert len(found) == 1, said[-3000:]
    return found[0]


def complaints(said: str) -> list[str]:
    """Lines that are neither a result nor a warning."""
    lines = OF_DELTA_RS.sub("", said).splitlines()
    return [line for line in lines if line and not line.startswith(("{", "pts: warning: "))]
