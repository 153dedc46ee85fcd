"""Spark's Java: started, listened to, and asked why it ended."""

import os
import re
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from signal import SIGKILL
from tempfile import NamedTemporaryFile
from threading import Thread

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from pipelines.errors import JavaEnded, log_text

LAST_WORDS_SECONDS = 5.0
"""A connection may be gone for so long before the process that had it."""

KEPT_LINES = 200
TOLD_LINES = 2
REASON = re.compile(r"Error|Exception|memory|space|denied|annot|ould not|nable to")
FRAME = re.compile(r"\s+at |\s*\.\.\. \d+ more")
OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|insufficient memory|Could not reserve|commit_memory|Cannot allocate memory"
)
MEMORY_CURE = (
    "It had too little memory: raise PTS_SPARK__DRIVER_MEMORY_MB, as far as the machine has it, and start again, then "
    "lower PTS_STREAM__MAX_RECORDS_PER_BATCH, so that later batches are smaller."
)

_said: deque[str] = deque(maxlen=KEPT_LINES)
_listener: Thread | None = None


def start(conf: SparkConf) -> None:
    """Starts Java for the session that is opened next, unless one runs. What it says is passed on to standard error.

    It reads the properties from a file of this user alone, which is gone when it has started: everybody on the machine
    may read the arguments of a process.
    """
    global _listener
    if SparkContext._gateway:
        return
    _said.clear()
    read_end, write_end = os.pipe()
    _listener = Thread(target=_pass_on, args=(read_end,), name="stderr of Java", daemon=True)
    _listener.start()
    try:
        with NamedTemporaryFile("w", encoding="utf-8", suffix=".properties") as file:
            file.write(as_properties(dict(conf.getAll())))
            file.flush()
            os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {shlex.quote(file.name)} pyspark-shell"
            SparkContext._gateway = launch_gateway(None, {"stderr": write_end})  # type: ignore[no-untyped-call]
        SparkContext._jvm = SparkContext._gateway.jvm
    finally:
        os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
        os.close(write_end)


def as_properties(values: Mapping[str, str]) -> str:
    """The values as a file of Java properties."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in values.items())


def _escaped(text: str) -> str:
    return re.sub(r"[\\=:#! ]", r"\\\g<0>", text).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def exit_code(patience_seconds: float = 0.0) -> int | None:
    """The exit code of Java, as the operating system tells it; None while it runs."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process:  # none under spark-submit, whose Java outlives this process
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience_seconds)
    return None


def ended(when: str) -> JavaEnded:
    """The error for a Java that ended by itself: with which code, what it said, and what helps. `when` ends the first
    part of the sentence, as "while it started".
    """
    code = exit_code()
    if _listener:
        _listener.join(LAST_WORDS_SECONDS)  # until it has read all
    reasons = [line for line in _said if REASON.search(line) and not FRAME.match(line)]
    causes = [line for line in reasons if line.startswith("Caused by: ")] or reasons
    words = " ".join(causes[-TOLD_LINES:]).removeprefix("Caused by: ")
    how = "was killed" if code == -SIGKILL else "ended by itself" + ("" if code is None else f", with code {code},")
    cure = (
        "By somebody, or by the system, which does so when the machine has no memory left." if code == -SIGKILL else ""
    )
    if OUT_OF_MEMORY.search(" ".join(_said)):
        cure = MEMORY_CURE
    said = f": {words.rstrip('.')}" if words else ""
    return JavaEnded(f"Spark's Java {how} {when}{said}. Nothing is lost. {cure}".rstrip())


def _pass_on(read_end: int) -> None:
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            shown = log_text(line.rstrip())
            _said.append(shown)
            with suppress(OSError, ValueError):  # nobody listens any more
                sys.stderr.write(f"{shown}\n")
                sys.stderr.flush()
