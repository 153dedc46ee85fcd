"""The judge of a campaign: it knows the log, the oracle and the journal of the load, and nothing of the job."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pipelines.errors import LakeUnavailable, NotFound
from pipelines.io.reader import LakeReader
from pipelines.io.snapshots import Snapshot, snapshot
from tests.comparison import assert_lake_equals_log
from tests.faults.load import not_once
from tests.integration.log_reader import read_log

PAUSE_SECONDS = 0.2

CONSERVED = """
    SELECT (SELECT count(*) FROM bronze.ship_events) AS events,
        (SELECT count(*) FROM bronze.ship_routes) AS routes,
        (SELECT count(*) FROM silver.ship_events) AS scans,
        (SELECT count(*) FROM silver.ship_routes) AS versions,
        (SELECT count(*) FROM silver.quarantine) AS quarantined,
        (SELECT count(*) FROM gold.remaining_stops) AS reports,
        (SELECT count(DISTINCT tracking_number) FROM (
            SELECT tracking_number FROM silver.ship_events UNION ALL SELECT tracking_number FROM silver.ship_routes
        )) AS packages,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.stop_activity) AS in_windows,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.carrier_throughput) AS in_hours,
        (SELECT count(DISTINCT window_start) FROM gold.stop_activity) AS windows,
        (SELECT count(*) FROM gold.busiest_stops WHERE rank = 1) AS boards
"""
PROMISED = """
    SELECT coalesce(sum(read_count) FILTER (kafka_topic = 'ship-events'), 0) AS events,
        coalesce(sum(read_count) FILTER (kafka_topic = 'ship-routes'), 0) AS routes,
        coalesce(sum(accepted_count) FILTER (kafka_topic = 'ship-events'), 0) AS scans,
        coalesce(sum(accepted_count) FILTER (kafka_topic = 'ship-routes'), 0) AS versions,
        coalesce(sum(quarantined_count), 0) AS quarantined
    FROM (SELECT unnest(counts, recursive := true) FROM ops.batches)
"""
"""What the ledger says of the same."""


class Partial(AssertionError):
    """A reader saw a part of a batch."""


def check_whole(root: str, seen: Snapshot) -> None:
    """Raises `Partial` when the tables of a snapshot do not agree with the ledger and with each other."""
    reader = LakeReader(root, seen.versions, seen.batch_id)
    (found,) = reader.query(CONSERVED).to_pylist()
    (promised,) = reader.query(PROMISED).to_pylist()
    expected = {
        **promised,
        "reports": found["packages"],
        "packages": found["packages"],
        "in_windows": 2 * found["scans"],
        "in_hours": found["scans"],
        "windows": found["windows"],
        "boards": found["windows"],
    }
    if found != expected:
        raise Partial(f"batch {seen.batch_id}: {found}, not {expected}")


class Auditor:
    """Reads the tables all the while, as anybody may, and in the end compares everything with the log.

    Args:
        root: The lake.
        servers: The log.
        journal: What the load says was acknowledged.

    Attributes:
        seen_count: Snapshots that were read.
        recovered_after: Seconds from each fault that was told to the next batch in the ledger.
    """

    def __init__(self, root: str, servers: str, journal: Path) -> None:
        self._root, self._servers, self._journal = root, servers, journal
        self._failure: BaseException | None = None
        self._faults: list[datetime] = []
        self.seen_count = 0
        self.recovered_after: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Reads snapshot after snapshot, in a thread of its own. What it saw wrong, `judge` raises."""
        has_ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(has_ended,), name="auditor", daemon=True)
        thread.start()
        try:
            yield
        finally:
            has_ended.set()
            thread.join()

    def note_fault(self) -> None:
        """A fault happens now."""
        self._faults.append(datetime.now(UTC))

    def judge(self) -> None:
        """Raises `AssertionError` when a promise was broken: all that was sent must be in the tables by now."""
        if self._failure:
            raise self._failure
        log = read_log(self._servers)
        lost = not_once(self._journal, log)
        assert not lost, f"{len(lost)} acknowledged records are not on the log, for example {lost[0]}"
        assert_lake_equals_log(self._root, log)
        check_whole(self._root, snapshot(self._root))
        self.recovered_after = list(self._recoveries())

    def _recoveries(self) -> Iterator[float]:
        rows = LakeReader(self._root).query("SELECT committed_at FROM ops.batches ORDER BY batch_id").to_pylist()
        for fault in self._faults:
            later = [row["committed_at"] for row in rows if row["committed_at"] > fault]
            if later:
                yield (min(later) - fault).total_seconds()

    def _watch(self, has_ended: threading.Event) -> None:
        try:
            while not has_ended.is_set():
                try:
                    check_whole(self._root, snapshot(self._root))
                    self.seen_count += 1
                except (NotFound, LakeUnavailable):
                    pass  # no complete batch yet, or a disk that a fault took away
                time.sleep(PAUSE_SECONDS)
        except BaseException as error:
            self._failure = error
