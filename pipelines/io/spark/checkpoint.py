"""What Structured Streaming keeps of a query: its identity, and the offsets of the batches it planned and committed.

Layout, from Spark's `StreamExecution` and `HDFSMetadataLog`: `metadata` holds the query's id; `sources/0/0` the
offsets at which the first batch begins; `offsets/<n>` the offsets at which batch n ends, written before the batch
runs; `commits/<n>` is written when it is done.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pipelines.errors import LakeMismatch, LakeUnavailable
from pipelines.io.kafka.log import OffsetRange, Offsets, offsets_json, ranges_between
from pipelines.io.storage.files import files_at

REMEDY = "or go on without it from where the ledger ends: `pts stream --new-checkpoint`"
"""The last words of a refusal, after what else can be done."""

SEE = "(docs/runbook.md, 'A lost checkpoint')"


class Checkpoint:
    """A streaming checkpoint. Raises `LakeMismatch` for a file that says nothing, or that others need and is gone.

    Spark alone writes what is in it, but for a new one's identity and first offsets. What changes it raises
    `LakeUnavailable` when the folder cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._files = files_at(path)

    def query_id(self) -> str | None:
        """Identity of the query that owns the checkpoint; None before its first start."""
        if not self._files.exists("metadata"):
            if self.last_planned() is not None:
                raise LakeMismatch(
                    f"The checkpoint {self.path} has planned batches but lost its file `metadata`, by which writes "
                    f"are told apart. Restore the file, {REMEDY} {SEE}. Spark would invent a new identity and write "
                    "batches a second time."
                )
            return None
        return str(self._parsed("metadata")["id"])

    def last_planned(self) -> int | None:
        return self._last("offsets")

    def last_committed(self) -> int | None:
        committed = self._last("commits")
        if committed is not None:
            self._parsed(f"commits/{committed}")  # Spark reads it, and has no word for an empty one
        return committed

    def ranges(self, batch_id: int) -> tuple[OffsetRange, ...]:
        """What a planned batch reads: from where the batch before it ended to where it ends itself."""
        return ranges_between(self.start_offsets(batch_id), self.end_offsets(batch_id))

    def start_offsets(self, batch_id: int) -> Offsets:
        return self.end_offsets(batch_id - 1) if batch_id else self._offsets_in("sources/0/0")

    def end_offsets(self, batch_id: int) -> Offsets:
        return self._offsets_in(f"offsets/{batch_id}")

    def _offsets_in(self, name: str) -> Offsets:
        offsets = self._parsed(name)
        if not all(isinstance(parts, dict) for parts in offsets.values()):  # its last line is gone
            raise self._torn(name)
        return {topic: {int(number): offset for number, offset in parts.items()} for topic, parts in offsets.items()}

    def _last(self, log: str) -> int | None:
        numbers = (int(entry.name) for entry in self._files.entries(log) if entry.name.isdigit())
        return max(numbers, default=None)

    def _parsed(self, name: str) -> dict[str, Any]:
        """The last line of a file; the lines before it are the format's version and Spark's own."""
        try:
            return dict(json.loads(self._files.read(name).splitlines()[-1]))
        except (FileNotFoundError, ValueError, IndexError) as error:
            raise self._torn(name) from error

    def _torn(self, name: str) -> LakeMismatch:
        return LakeMismatch(
            f"The checkpoint file {self.path}/{name} is missing, empty or torn. Restore it, {REMEDY} {SEE}."
        )

    def set_aside(self) -> None:
        """Gives it another name, by the time, so that there is none; nothing is lost."""
        with self._written():
            self._files.rename_to(f"{self.path}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")

    def begin(self, query_id: str, start: Offsets) -> None:
        """Makes one that has planned nothing: of a query of that identity, whose first batch begins at the offsets.

        As Spark does at a query's first start. Where it finds these files, it goes by them.
        """
        with self._written():
            self._files.make_folder("sources/0")
            self._files.write("metadata", json.dumps({"id": query_id}))
            # Spark's Kafka source skips the first byte (SPARK-19517).
            self._files.write("sources/0/0", f"\0v1\n{offsets_json(start)}")

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LakeUnavailable(f"The checkpoint {self.path} cannot be written: {error.strerror}.") from error
