"""Reads a log file that another process appends to and rotates."""

import os
from pathlib import Path
from typing import BinaryIO

ERROR_WINDOW_BYTES = 64 * 1024


class LogTail:
    """The lines that are added to a log from now on. The file need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""
        self._start = path.stat().st_size if path.exists() else 0
        self._inode = path.stat().st_ino if path.exists() else None
        self._position = self._start

    def lines(self) -> list[str]:
        """The complete lines added since the last call."""
        fresh = self._read()
        *complete, self._rest = (self._rest + fresh).split(b"\n")
        return [line.decode("utf-8", "replace").rstrip("\r") for line in complete]

    def last_error(self) -> str:
        """What the process said at its end: its `pts:` sentence, else an exception, an error, or whatever came last."""
        if not self._path.exists():
            return "it wrote nothing"
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = self._start if os.fstat(file.fileno()).st_ino == self._inode else 0
            file.seek(max(start, size - ERROR_WINDOW_BYTES))
            lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return _last_words(lines)

    def _read(self) -> bytes:
        """A rotated log is read to its end before the new file is opened."""
        fresh = b""
        if self._file is None and self._path.exists():
            self._open(self._position)
        if self._file is not None:
            fresh = self._file.read()
            if self._path.exists() and self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino:
                fresh += self._file.read()
                self._file.close()
                self._open(0)
                fresh += self._file.read()
        return fresh

    def _open(self, position: int) -> None:
        self._file = self._path.open("rb")
        self._file.seek(position)


def _last_words(lines: list[str]) -> str:
    tracebacks = [number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    after = lines[tracebacks[-1] + 1 :] if tracebacks else []
    candidates = (
        [line for line in lines if line.startswith("pts: ") and not line.startswith("pts: warning: ")],
        [line for line in after if not line[0].isspace()][:1],
        [line for line in lines if " ERROR " in line or " FATAL " in line],
        lines,
    )
    return next((found[-1].strip().removeprefix("pts: ") for found in candidates if found), "it wrote nothing")
