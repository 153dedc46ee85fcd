"""`pts` as a process, and what a test waits for."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.settings import Settings
from pipelines.settings_variables import as_variables

ONE_COMPILER = "-XX:TieredStopAtLevel=1"
"""An option of Java. A test's process is over before the optimising compiler pays for itself."""

SHORT_LIVED = {f"spark.{role}.defaultJavaOptions": ONE_COMPILER for role in ("driver", "executor")}


def settings_of(base: Settings, lake: str, **variables: str) -> dict[str, str]:
    """The environment of a process that writes a lake of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
    own = {"PTS_LAKE": str(base.home / lake), "PTS_SPARK__CONF": json.dumps(SHORT_LIVED)}
    return inherited | as_variables(base) | own | variables


@contextmanager
def process(arguments: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A `pts` process; gone at the end whatever happens."""
    with log.open("ab") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", *arguments], env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()


def wait_until(is_done: Callable[[], bool], log: Path, seconds: float = 180, every: float = 0.02) -> None:
    deadline = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(every)


def wait_for(log: Path, text: str, count: int = 1) -> None:
    wait_until(lambda: log.read_text().count(text) >= count, log)


def refusal(log: Path) -> str:
    """The sentence with which a process has ended. It is the last thing that is said; warnings may come before it."""
    said = log.read_text()
    (told,) = re.findall("^pts: (?!warning: ).*", said, re.MULTILINE)
    assert told == said.splitlines()[-1]
    return str(told)


def pts(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def newest_row(lake: Path | str) -> dict[str, Any]:
    """The ledger's."""
    row: dict[str, Any] = LakeReader(str(lake)).query("FROM ops.batches ORDER BY batch_id DESC LIMIT 1").to_pylist()[0]
    return row


def is_through(lake: Path | str, servers: str) -> bool:
    """Whether all tables are at the end of the log."""
    newest = newest_row(lake)
    if any(table["position"] < newest["batch_id"] for table in newest["tables"]):
        return False
    ends = end_offsets(Connection(servers), ["ship-events", "ship-routes"])
    reached: int = sum(part["end_offset"] for part in newest["offsets"])
    return reached == sum(sum(partitions.values()) for partitions in ends.values())
