"""What does a process with all that it started cost? CPU seconds and resident memory, from /proc (Linux)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 1024 * 1024


@dataclass(frozen=True)
class Process:
    """A process at one moment. `identity` tells it from a later one with the same pid."""

    identity: tuple[int, int]
    parent: int
    cpu_seconds: float
    resident_bytes: int


def processes() -> dict[int, Process]:
    """All processes of this machine, by pid."""
    return {process.identity[0]: process for process in _read_all()}


def _read_all() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:  # it ended meanwhile
            continue
        fields = text.rpartition(")")[2].split()  # after the name, which may contain anything; see proc(5)
        yield Process(
            identity=(int(folder.name), int(fields[19])),
            parent=int(fields[1]),
            cpu_seconds=(int(fields[11]) + int(fields[12])) / TICKS,
            resident_bytes=int(fields[21]) * PAGE_BYTES,
        )


def machine_cpu_seconds() -> float:
    """CPU seconds that this machine has used since its start, by anybody."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()
    user, nice, system, _idle, _wait, interrupt, soft, steal = map(int, fields[1:9])
    return (user + nice + system + interrupt + soft + steal) / TICKS


def descendants(root: int, everybody: dict[int, Process], known: set[tuple[int, int]]) -> list[Process]:
    """The process, all that it started, and those known as such that have lost their parent since."""
    found = []
    for process in everybody.values():
        pid, hops = process.identity[0], 0
        while pid in everybody and pid != root and everybody[pid].identity not in known and hops < 100:
            pid, hops = everybody[pid].parent, hops + 1
        if pid == root or (pid in everybody and everybody[pid].identity in known):
            found.append(process)
    return found


class Tree:
    """Follows a process and its descendants, by a sample every now and then.

    What a process used after its last sample and before its end is not counted.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._cpu: dict[tuple[int, int], float] = {}
        self._resident: list[int] = []
        self._lock = threading.Lock()

    def sample(self) -> None:
        with self._lock:
            found = descendants(self._root, processes(), set(self._cpu))
            self._cpu.update({process.identity: process.cpu_seconds for process in found})
            self._resident.append(sum(process.resident_bytes for process in found))

    def cpu_seconds(self) -> float:
        """Used so far, by those that have ended, too."""
        self.sample()
        return sum(self._cpu.values())

    def greatest_resident_mib(self) -> int:
        """While it was followed last."""
        return greatest_of_medians(self._resident) // MIB

    @contextmanager
    def followed(self, every_seconds: float = 0.2) -> Iterator[None]:
        """Takes samples for as long as the block lasts."""
        self._resident.clear()
        done = threading.Event()

        def sample() -> None:
            while not done.wait(every_seconds):
                self.sample()

        sampler = threading.Thread(target=sample, daemon=True)
        sampler.start()
        try:
            yield
        finally:
            done.set()
            sampler.join()


def greatest_of_medians(samples: list[int], width: int = 5) -> int:
    """The greatest median of neighbouring samples: a process that is just being forked seems to double its parent."""
    windows = [samples[start : start + width] for start in range(max(1, len(samples) - width + 1))]
    return int(max((median(window) for window in windows if window), default=0))
