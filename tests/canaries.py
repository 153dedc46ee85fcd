"""Where a secret is that should be nowhere: files, and what everybody, or a child, may read of processes."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROCESSES = Path("/proc")


@dataclass
class Seen:
    """Programs that ran, and secrets in their arguments or environments: which, of whom, where."""

    programs: set[str] = field(default_factory=set)
    leaks: set[tuple[str, str, str]] = field(default_factory=set)


def files_below(folder: Path) -> Iterator[Path]:
    """All files, also where processes delete files and folders meanwhile."""
    return (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def in_files(folder: Path, canaries: Mapping[str, str]) -> set[tuple[str, str]]:
    """Name of the secret and path of the file, for each file that has one in it."""
    found = set()
    for path in files_below(folder):
        with suppress(FileNotFoundError):  # of a broker, which deletes files meanwhile
            held = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found |= {(name, str(path.relative_to(folder))) for name, it in canaries.items() if it.encode() in held}
    return found


def look(home: Path, canaries: Mapping[str, str], seen: Seen) -> None:
    """Takes in all processes of a home: those that have its path in their arguments or environment."""
    for process in PROCESSES.glob("[0-9]*"):
        try:
            told = {name: (process / name).read_bytes() for name in ("cmdline", "environ")}
        except OSError:  # it has ended
            continue
        if not any(str(home).encode() in text for text in told.values()):
            continue
        program = told["cmdline"].replace(b"\0", b" ").decode("utf-8", "replace")
        seen.programs.add(program)
        seen.leaks |= {
            (name, where, program)
            for where, text in told.items()
            for name, canary in canaries.items()
            if canary.encode() in text
        }


@contextmanager
def watched(home: Path, canaries: Mapping[str, str]) -> Iterator[Seen]:
    """What runs within the block."""
    seen, is_over = Seen(), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.2):
            look(home, canaries, seen)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        is_over.set()
        watcher.join()
