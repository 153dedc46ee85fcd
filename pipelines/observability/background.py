"""What observers of the job have in common: a thread of their own, and words about what fails in it."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from pipelines.errors import in_words, warn
from pipelines.processes.last_threads import await_end

LAST_SECONDS = 10.0
"""How long the end of the job waits for what an observer still has to do."""

T = TypeVar("T")


class Background(Generic[T]):
    """Does something with each thing that it is given, in order and in a thread of its own; who gives does not wait."""

    def __init__(self, name: str, do: Callable[[T], object]) -> None:
        self._do = do
        self._given: queue.SimpleQueue[tuple[T] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, thing: T) -> None:
        self._given.put((thing,))

    def finish(self) -> None:
        """Returns when all is done, or after `LAST_SECONDS`."""
        self._given.put(None)
        await_end(self._thread, LAST_SECONDS)

    def _work(self) -> None:
        while (given := self._given.get()) is not None:
            self._do(*given)


class Failures:
    """Failures for which the job does not stop: standard error is told of each once, until it is another one."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Whatever fails in the block is told as `what`, and the caller goes on."""
        try:
            yield
        except Exception as error:
            said = f"{what}: {in_words(error)}"
            if self._last.get(what) != said:
                warn(said)
            self._last[what] = said
        else:
            self._last.pop(what, None)
