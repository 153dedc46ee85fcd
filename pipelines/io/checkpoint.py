"""What Structured Streaming keeps of a query: its identity, and the offsets of the batches it planned and committed.

Layout, from Spark's `StreamExecution` and `HDFSMetadataLog`: `metadata` holds the query's id; `sources/0/0` the
offsets at which the first batch begins; `offsets/<n>` the offsets at which batch n ends, written before the batch
runs; `commits/<n>` is written when it is done.
"""

import json

from pyspark.sql import SparkSession

from pipelines.errors import LakeMismatch
from pipelines.io.kafka_log import OffsetRange, Offsets, ranges_between
from pipelines.io.storage import Storage


class Checkpoint:
    """A streaming checkpoint, read only. Raises `LakeMismatch` for a file that is there but says nothing."""

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
                    "are told apart. Restore the file; Spark would invent a new identity and write batches a second "
                    "time."
                )
            return None
        return str(self._parsed(path, self._storage.text(path))["id"])

    def last_planned(self) -> int | None:
        return self._last("offsets")

    def last_committed(self) -> int | None:
        return self._last("commits")

    def ranges(self, batch_id: int) -> tuple[OffsetRange, ...]:
        """What a planned batch reads: from where the batch before it ended to where it ends itself."""
        return ranges_between(self.start_offsets(batch_id), self.end_offsets(batch_id))

    def start_offsets(self, batch_id: int) -> Offsets:
        return self.end_offsets(batch_id - 1) if batch_id else self._offsets_in("sources/0/0")

    def end_offsets(self, batch_id: int) -> Offsets:
        return self._offsets_in(f"offsets/{batch_id}")

    def _offsets_in(self, name: str) -> Offsets:
        """The last line of a file of the checkpoint; the lines before it are the format's version and Spark's own."""
        path = f"{self.path}/{name}"
        lines = self._storage.text(path).splitlines()
        offsets = self._parsed(path, lines[-1] if lines else "")
        return {topic: {int(number): offset for number, offset in parts.items()} for topic, parts in offsets.items()}

    def _last(self, log: str) -> int | None:
        numbers = [int(name) for name in self._storage.names(f"{self.path}/{log}") if name.isdigit()]
        return max(numbers, default=None)

    @staticmethod
    def _parsed(path: str, text: str) -> dict[str, dict[str, int]]:
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise LakeMismatch(
                f"The checkpoint file {path} is empty or torn. Restore it, or see docs/runbook.md, 'A lost checkpoint'."
            ) from error
