"""What is downloaded or compiled for a peer, once: folders that know from which files they were made."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from lab.benchmarks.options import HOME

PEERS = HOME / "peers"


def once(folder: Path, digest: str, make: Callable[[Path], None]) -> None:
    """Makes the folder again unless its stamp says that it was made from the same input."""
    stamp = folder / ".made-from"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(folder)
    stamp.write_text(digest)


def digest_of(*files: Path) -> str:
    """Of all their bytes."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
