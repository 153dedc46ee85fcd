"""How far a replay is: a bar on a terminal, a JSON line for each batch everywhere else."""

import json
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pipelines.state.ledger import LedgerRow


class BuildProgress:
    """Of so many records in all."""

    def __init__(self, total: int, *, is_quiet: bool = False) -> None:
        self._total = total
        self._done = 0
        self._here = 0
        self._began = time.monotonic()
        self._console = Console(stderr=True, quiet=is_quiet)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("records"),
            TextColumn("{task.fields[rate]:,.0f}/s"), TimeRemainingColumn(),
            console=self._console, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task: TaskID = self._bar.add_task("replay", total=total, rate=0)

    def __enter__(self) -> "BuildProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._bar.stop()

    def skipped(self, records: int) -> None:
        """What an earlier call did."""
        self._done = records
        self._bar.update(self._task, completed=records)

    def batch_done(self, row: LedgerRow, records: int, seconds: float) -> None:
        self._done += records
        self._here += records
        rate = self._here / (time.monotonic() - self._began)
        self._bar.update(self._task, completed=self._done, rate=rate)
        if not self._console.is_terminal:
            line = {
                "batch_id": row.batch_id,
                "records": records,
                "duration_seconds": round(seconds, 2),
                "records_done": self._done,
                "records_left": self._total - self._done,
                "seconds_left": round((self._total - self._done) / rate),
            }
            self._console.print(json.dumps(line), soft_wrap=True, markup=False)
