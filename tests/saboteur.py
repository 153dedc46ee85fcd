"""Ends a command after so many steps of it.

python -m tests.saboteur 3 replay build fix    runs `pts replay build fix`, and kills itself after the third step
python -m tests.saboteur 3+20 stream           20 ms after the third moment, of which each step has one before and one
                                               after: so also in the middle of a write
python -m tests.saboteur 3+20@java stream      the same of its Java alone; with `@both`, of Java and then of itself
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from threading import Timer
from typing import Any

import pytest
from pyspark import SparkContext

from pipelines.cli import main as cli
from pipelines.engine.runner import LakeRunner
from pipelines.io.delta import delta_rs, files
from pipelines.io.delta.lake import Lake
from pipelines.replay import publication
from pipelines.state.ledger import Ledger
from pipelines.state.replay_records import Replays
from tests.batches import Crashed

OF_A_SWAP = (
    (Replays, "save"),
    (publication, "publish"),
    (delta_rs, "signature"),
    (delta_rs, "swap_in"),
    (Ledger, "append"),
)
STEPS = ((Lake, "commit"), (LakeRunner, "batch"), *OF_A_SWAP)
OF_COMPACTION = tuple((files, step) for step in ("join", "order", "vacuum", "write_checkpoint", "shorten_log"))


def crash() -> None:
    """Stands for the end of the process."""
    raise Crashed


class Saboteur:
    """Does something after so many calls of certain functions: after what they do is done.

    Args:
        patch: What undoes it.
        targets: The functions, each by its owner and name.
        end: What it does.
        limit: After so many; never, when it is 0.
        also_before: A call counts twice: before what it does, and after.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        *targets: tuple[Any, str],
        end: Callable[[], None] = crash,
        limit: int = 0,
        also_before: bool = False,
    ) -> None:
        self._end = end
        self._calls = 0
        self._also_before = also_before
        self.limit = limit
        for owner, name in targets:
            patch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            if self._also_before:
                self._count()
            result = function(*arguments, **named)
            self._count()
            return result

        return watched

    def _count(self) -> None:
        self._calls += 1
        if self._calls == self.limit:
            self._end()

    def crashes(self, run: Callable[[], object], step: int) -> Iterator[int]:
        """Runs it again and again, each time a step further, until it comes to its end; the calls before each crash."""
        while True:
            self._calls, self.limit = 0, self.limit + step
            try:
                run()
                return
            except Crashed:
                yield self.limit


def main() -> None:
    moment, _, victim = sys.argv.pop(1).partition("@")
    limit, plus, delay = moment.partition("+")

    def kill() -> None:
        java = getattr(SparkContext._gateway, "proc", None)
        if victim and java:
            os.kill(java.pid, signal.SIGKILL)
        if victim != "java" or not java:
            os.kill(os.getpid(), signal.SIGKILL)

    def kill_soon() -> None:
        Timer(int(delay) / 1000, kill).start()

    patch = pytest.MonkeyPatch()
    targets = (*STEPS, *OF_COMPACTION)
    Saboteur(patch, *targets, end=kill_soon if plus else kill, limit=int(limit), also_before=bool(plus))
    cli.main()


if __name__ == "__main__":
    main()
