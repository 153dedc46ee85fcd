"""Ends a command after so many steps of it.

python -m tests.saboteur 3 replay build fix    runs `pts replay build fix`, and kills itself after the third step
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pipelines import cli
from pipelines.io import delta_rs
from pipelines.io.lake import Lake
from pipelines.io.ledger import Ledger
from pipelines.io.replays import Replays
from pipelines.jobs.replay import publication
from tests.batches import Crashed

CHANGES_OF_PLACE = (
    (Replays, "save"),
    (publication, "publish"),
    (delta_rs, "_commit"),
    (delta_rs, "take_over"),
    (Ledger, "append"),
)
STEPS = ((Lake, "_commit_of"), *CHANGES_OF_PLACE)


def crash() -> None:
    """Stands for the end of the process."""
    raise Crashed


class Saboteur:
    """Does something after so many calls of certain functions: after what they do is done.

    Attributes:
        limit: So many; never, when it is 0.
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, *targets: tuple[Any, str], end: Callable[[], None] = crash, limit: int = 0
    ) -> None:
        self._end = end
        self._calls = 0
        self.limit = limit
        for owner, name in targets:
            patch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            self._calls += 1
            if self._calls == self.limit:
                self._end()
            return result

        return watched

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
    limit = int(sys.argv.pop(1))
    Saboteur(pytest.MonkeyPatch(), *STEPS, end=lambda: os.kill(os.getpid(), signal.SIGKILL), limit=limit)
    cli.main()


if __name__ == "__main__":
    main()
