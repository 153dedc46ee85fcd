"""What Structured Streaming keeps of a query: its identity, and the offsets of the batches it planned and committed.

Layout, from Spark's `StreamExecution` and `HDFSMetadataLog`: `metadata` holds the query's id; `sources/0/0` the
offsets at which the first batch begins; `offsets/<n>` the offsets at which batch n ends, written before the batch
runs; `commits/<n>` is written when it is done.
"""

import json
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from pipelines.errors import LakeMismatch
from pipelines.io.delta.storage import Storage
from pipelines.io.kafka.log import OffsetRange, Offsets, offsets_json, ranges_between

WAY_OUT = "or go on without it from where the ledger ends: `pts stream --new-checkpoint`"
"""In a refusal, after what else can be done."""

SEE = "(docs/runbook.md, 'A lost checkpoint')"


class Checkpoint:
    """A streaming checkpoint. Raises `LakeMismatch` for a file that says nothing, or that others need and is gone.

    Spark alone writes what is in it, but for a new one's identity and first offsets.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._storage = Storage(spark)

    def query_id(self) -> str | None:
        """Identity of the query that owns the checkpoint; None before its first start."""
        path = f"{self.path}/metadata"
        if not self._storage.exists(path):
            if self.last_planned() is not None:
                raise LakeMismatch(
                    f"The checkpoint {self.path} has planned batches but lost its file `metadata`, by which writes "
                    f"are told apart. Restore the file, {WAY_OUT} {SEE}. Spark would invent a new identity and write "
                    "batches a second time."
                )
            return None
        return str(self._parsed(path)["id"])

    def last_planned(self) -> int | None:
        return self._last("offsets")

    def last_committed(self) -> int | None:
        committed = self._last("commits")
        if committed is not None:
            self._parsed(f"{self.path}/commits/{committed}")  # Spark reads it, and has no word for an empty one
        return committed

    def ranges(self, batch_id: int) -> tuple[OffsetRange, ...]:
        """What a planned batch reads: from where the batch before it ended to where it ends itself."""
        return ranges_between(self.start_offsets(batch_id), self.end_offsets(batch_id))

    def start_offsets(self, batch_id: int) -> Offsets:
        return self.end_offsets(batch_id - 1) if batch_id else self._offsets_in("sources/0/0")

    def end_offsets(self, batch_id: int) -> Offsets:
        return self._offsets_in(f"offsets/{batch_id}")

    def _offsets_in(self, name: str) -> Offsets:
        path = f"{self.path}/{name}"
        offsets = self._parsed(path)
        if not all(isinstance(parts, dict) for parts in offsets.values()):  # its last line is gone
            raise _torn(path)
        return {topic: {int(number): offset for number, offset in parts.items()} for topic, parts in offsets.items()}

    def _last(self, log: str) -> int | None:
        numbers = [int(name) for name in self._storage.names(f"{self.path}/{log}") if name.isdigit()]
        return max(numbers, default=None)

    def _parsed(self, path: str) -> dict[str, Any]:
        """The last line of a file; the lines before it are the format's version and Spark's own."""
        lines = self._storage.text(path).splitlines() if self._storage.exists(path) else []
        try:
            return dict(json.loads(lines[-1] if lines else ""))
        except ValueError as error:
            raise _torn(path) from error

    def forget_lost_checksums(self) -> None:
        """Deletes the checksums of what Spark writes next, where their files are gone: it would take them for those of
        another job.

        Of `offsets/7`, Hadoop keeps one in `offsets/.7.crc`, on a folder's storage alone.
        """
        for log, newest in (("offsets", self.last_planned()), ("commits", self.last_committed())):
            self._storage.delete(f"{self.path}/{log}/.{0 if newest is None else newest + 1}.crc")

    def set_aside(self) -> None:
        """Gives it another name, by the time, so that there is none; nothing is deleted."""
        if self._storage.exists(self.path):
            name = self.path.rpartition("/")[2]
            self._storage.rename(self.path, f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")

    def begin(self, query_id: str, start: Offsets) -> None:
        """Makes one that has planned nothing: of a query of that identity, whose first batch begins at the offsets.

        As Spark does at a query's first start. Where it finds these files, it goes by them.
        """
        self._storage.write(f"{self.path}/metadata", json.dumps({"id": query_id}))
        # Spark's Kafka source skips the first byte (SPARK-19517).
        self._storage.write(f"{self.path}/sources/0/0", f"\0v1\n{offsets_json(start)}")


def _torn(path: str) -> LakeMismatch:
    return LakeMismatch(f"The checkpoint file {path} is missing, empty or torn. Restore it, {WAY_OUT} {SEE}.")
