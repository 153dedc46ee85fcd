"""Processes of contenders: started, asked for one run after the other, ended."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.benchmarks.options import ROOT
from lab.benchmarks.processes import Process, descendants, processes

LIMIT_SECONDS = 1_800.0
"""A run that takes longer is given up."""
STOP_SECONDS = 60.0
ORPHAN_SECONDS = 3.0


@dataclass(frozen=True)
class Command:
    """A command line with the variables that it needs beside this process' own."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]

    def start(self, log: Path, stdout: Any, stdin: Any = subprocess.DEVNULL) -> "subprocess.Popen[str]":
        """Starts it in the repository. What it writes to standard error is appended to the log."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as errors:
            return subprocess.Popen(
                self.argv,
                env=inherited | dict(self.environment),
                cwd=ROOT,
                stdin=stdin,
                stdout=stdout,
                stderr=errors,
                text=True,
            )

    def run(self, log: Path, output: Path) -> None:
        """Runs it to its end; what it writes goes into the output. Raises `RunFailed` when it does not end well."""
        with output.open("w", encoding="utf-8") as out:
            process = self.start(log, stdout=out)
        try:
            if code := process.wait(LIMIT_SECONDS):
                raise RunFailed(f"{' '.join(self.argv)} ended with {code}. Its log: {log}")
        finally:
            end(process)


class RunFailed(Exception):
    """A contender's process ended, or did not answer in time."""


class Driver:
    """A process that answers each line of its input with a line `{"answer": {...}}`.

    Other lines of its output go to its log; those that are JSON objects are kept, too.
    """

    def __init__(self, name: str, command: Command, log: Path) -> None:
        self._name = name
        self._log = log
        self.process = command.start(log, stdout=subprocess.PIPE, stdin=subprocess.PIPE)

    def ask(self, request: str) -> dict[str, Any]:
        """Sends a line and returns the answer, with the other JSON lines since the last one as `lines`.

        Raises `RunFailed` when the process ends instead, or is still at it after `LIMIT_SECONDS`.
        """
        assert self.process.stdin
        assert self.process.stdout
        timer = threading.Timer(LIMIT_SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            lines: list[Any] = []
            for line in self.process.stdout:
                found = parsed(line)
                if found is not None and "answer" in found:
                    return {**found["answer"], "lines": lines}
                if found is not None:
                    lines.append(found)
                with self._log.open("a") as log:
                    log.write(line)
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        raise RunFailed(f"{self._name} ended without an answer. Its log: {self._log}")

    def close(self) -> None:
        """Ends the input and waits for the process to end upon it. Raises `RunFailed` when it does not end well."""
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if code := self.process.wait(STOP_SECONDS):
            raise RunFailed(f"{self._name} ended with {code}. Its log: {self._log}")

    def kill(self) -> None:
        """Ends what still runs of the process and of all that it started."""
        end(self.process)


def parsed(line: str) -> dict[str, Any] | None:
    """The JSON object of a line; None for any other line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def end(process: "subprocess.Popen[str]") -> None:
    """Asks a process to stop, waits for it, and then kills what is left of it and of all that it started."""
    family = descendants(process.pid, processes(), set()) if process.poll() is None else []
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if not _gone(family):
        for pid in _alive(family):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _gone(family)


def _gone(family: Sequence[Process]) -> bool:
    """Whether all of them end within some seconds: a JVM ends by itself when the Python that started it is gone."""
    deadline = time.monotonic() + ORPHAN_SECONDS
    while _alive(family):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _alive(family: Sequence[Process]) -> list[int]:
    there = processes()
    return [
        member.identity[0]
        for member in family
        if member.identity[0] in there and there[member.identity[0]].identity == member.identity
    ]
