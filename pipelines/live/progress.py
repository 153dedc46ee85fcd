"""How far the live job is: a heartbeat each second, and word of each micro-batch."""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka.admin import TIMEOUT_SECONDS, end_offsets, records_between
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import Offsets
from pipelines.live.resume import check_ends
from pipelines.processes.last_threads import await_end
from pipelines.progress import BatchDone, report
from pipelines.state.heartbeat import beat
from pipelines.state.ledger import LedgerRow, Observer

BEAT_SECONDS = 1.0


class LiveProgress:
    """Follows the log's ends beside the job, and tells of each batch.

    Lag in seconds is how long ago the log's ends were where the job is now. It needs no record's timestamp, so
    history that is loaded with its own times does not confuse it. In a backlog from before the start it counts from
    the start.

    While it is entered, a thread of its own beats once a second: whatever the job's threads do, and for how long. A
    broker that is away is the query's business; the beat goes on, with the lag that is known. What else goes wrong in
    that thread, `check` raises.
    """

    def __init__(
        self,
        connection: Connection,
        topics: list[str],
        start: Offsets,
        lake_root: str,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._connection = connection
        self._lake_root = lake_root
        self._topics = topics
        self._observers = observers
        self._state = threading.Lock()
        """Guards position and heads; never held while a broker is waited for."""
        self._position = start
        self._heads: deque[tuple[float, Offsets]] = deque()
        self._has_ended = threading.Event()
        self._failure: Exception | None = None
        self._beating = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._sample()
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        await_end(self._beating, TIMEOUT_SECONDS)  # it may wait for a broker that is away

    def check(self) -> None:
        """Raises what ended the heartbeat, as a topic that is gone."""
        if self._failure:
            raise self._failure

    def _beat_on(self) -> None:
        while not self._has_ended.is_set():
            try:
                self._sample()
                at = datetime.now(UTC).isoformat(timespec="milliseconds")
                beat(self._lake_root, {"at": at, **self._lag(), "lag_by_partition": self._lag_by_partition()})
            except Exception as error:
                self._failure = error
                return
            self._has_ended.wait(BEAT_SECONDS)

    def _sample(self) -> None:
        """Notes where the log ends now. Raises `LogTruncated` when that is before what was read of it."""
        asked_at = time.monotonic()
        with self._state:
            position = self._position
        try:
            head = end_offsets(self._connection, self._topics)
        except BrokerUnavailable:
            return
        check_ends(position, head)
        with self._state:
            if not self._heads or self._heads[-1][0] < asked_at:  # else another thread's answer is newer
                self._heads.append((asked_at, head))

    def batch_done(self, row: LedgerRow, seconds: float, phases: Mapping[str, float]) -> None:
        """Reports the batch with its figures, and tells the observers."""
        for observer in self._observers:
            observer.batch_done(row, seconds, phases)
        with self._state:
            self._position = row.end_offsets
        self._sample()
        counts = row.counts.values()
        records = sum(count.read for count in counts)
        report(
            BatchDone(
                batch_id=row.batch_id,
                committed_at=row.committed_at,
                records=records,
                records_per_second=round(records / seconds),
                **self._lag(),
                accepted=sum(count.accepted for count in counts),
                duplicates=sum(count.duplicate for count in counts),
                quarantined=sum(count.quarantined for count in counts),
                duration_seconds=round(seconds, 2),
            )
        )

    def _lag(self) -> dict[str, Any]:
        with self._state:
            while len(self._heads) > 1 and records_between(self._position, self._heads[1][1]) == 0:
                self._heads.popleft()
            if not self._heads:
                return {"lag_records": 0, "lag_seconds": 0.0}
            behind = records_between(self._position, self._heads[-1][1])
            since = self._heads[0][0]
        return {"lag_records": behind, "lag_seconds": round(time.monotonic() - since, 1) if behind else 0.0}

    def _lag_by_partition(self) -> dict[str, dict[int, int]]:
        with self._state:
            head = self._heads[-1][1] if self._heads else self._position
            return {
                topic: {each: records_between(self._position, {topic: {each: end}}) for each, end in partitions.items()}
                for topic, partitions in head.items()
            }
