"""One line per micro-batch: for a person on a terminal, as JSON everywhere else."""

import json
import time
from collections import deque

from rich.console import Console

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka_admin import end_offsets
from pipelines.io.kafka_log import Offsets
from pipelines.io.ledger import LedgerRow
from pipelines.progress import show_line

SAMPLE_SECONDS = 0.5


class LiveProgress:
    """Follows the log's ends beside the job, and tells of each batch.

    Lag in seconds is how long ago the log's ends were where the job stands now. It needs no record's timestamp, so
    history that is loaded with its own times does not confuse it. In a backlog from before the start it counts from
    the start.
    """

    def __init__(self, bootstrap_servers: str, topics: list[str], start: Offsets) -> None:
        self._servers = bootstrap_servers
        self._topics = topics
        self._position = start
        self._heads: deque[tuple[float, Offsets]] = deque()
        self._sampled_at = 0.0
        self._console = Console()
        self.sample()

    def sample(self) -> None:
        """Notes where the log ends now, at most twice a second; a broker that is away is the query's business."""
        if time.monotonic() - self._sampled_at < SAMPLE_SECONDS:
            return
        self._sampled_at = time.monotonic()
        try:
            self._heads.append((self._sampled_at, end_offsets(self._servers, self._topics)))
        except BrokerUnavailable:
            return

    def batch_done(self, row: LedgerRow, seconds: float) -> None:
        """Prints the batch's line."""
        self._position = row.end_offsets
        self._sampled_at = 0.0
        self.sample()
        while len(self._heads) > 1 and self._behind(self._heads[1][1]) == 0:
            self._heads.popleft()
        sampled_at, _ = self._heads[0] if self._heads else (time.monotonic(), row.end_offsets)
        newest = self._heads[-1][1] if self._heads else row.end_offsets
        is_level = self._behind(newest) == 0
        counts = row.counts.values()
        records = sum(count.read for count in counts)
        line = {
            "batch_id": row.batch_id,
            "committed_at": row.committed_at.isoformat(timespec="milliseconds"),
            "records": records,
            "records_per_second": round(records / seconds),
            "lag_records": self._behind(newest),
            "lag_seconds": 0.0 if is_level else round(time.monotonic() - sampled_at, 1),
            "accepted": sum(count.accepted for count in counts),
            "duplicates": sum(count.duplicate for count in counts),
            "quarantined": sum(count.quarantined for count in counts),
            "duration_seconds": round(seconds, 2),
        }
        show_line(json.dumps(line), self._console)

    def _behind(self, head: Offsets) -> int:
        """Records between the job's position and a head of the log."""
        return sum(
            max(0, offset - self._position.get(topic, {}).get(partition, 0))
            for topic, partitions in head.items()
            for partition, offset in partitions.items()
        )
