"""The judge of a campaign.

What the tables must be in the end, it knows from the log, the oracle and the journal of the load alone. While a case
runs, it holds pictures of the tables against the ledger and against each other.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from lab.faults.load import acknowledged, not_once, taken_back
from pipelines.errors import LakeUnavailable, NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.kafka_security import Security
from pipelines.settings import Settings
from pipelines.state.snapshots import Snapshot, snapshot
from tests.comparison import (
    COMPARED,
    assert_lake_equals_log,
    assert_messages_tell,
    assert_tables_equal_log,
    stored_rows,
)
from tests.integration.log_reader import read_log
from tests.oracle.records import LogRecord

PAUSE_SECONDS = 0.2

CONSERVED = """
    SELECT (SELECT count(*) FROM bronze.ship_events) AS events,
        (SELECT count(*) FROM bronze.ship_routes) AS routes,
        (SELECT count(*) FROM silver.ship_events) AS scans,
        (SELECT count(*) FROM silver.ship_routes) AS versions,
        (SELECT count(*) FROM silver.quarantine) AS quarantined,
        (SELECT count(*) FROM gold.remaining_stops) AS reports,
        (SELECT count(*) FROM gold.remaining_stops AS report JOIN (
            SELECT tracking_number, max(occurred_at) AS newest FROM silver.ship_events GROUP BY tracking_number
        ) USING (tracking_number) WHERE report.occurred_at IS DISTINCT FROM newest) AS reports_behind,
        (SELECT count(*) FROM gold.remaining_stops AS report LEFT JOIN (
            SELECT tracking_number, max(struct_pack(kafka_timestamp, kafka_partition, kafka_offset)) AS newest
            FROM silver.ship_routes GROUP BY tracking_number
        ) USING (tracking_number) WHERE report.route_kafka_partition IS DISTINCT FROM newest.kafka_partition
            OR report.route_kafka_offset IS DISTINCT FROM newest.kafka_offset) AS routes_behind,
        (SELECT count(DISTINCT tracking_number) FROM (
            SELECT tracking_number FROM silver.ship_events UNION ALL SELECT tracking_number FROM silver.ship_routes
        )) AS packages,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.stop_activity) AS in_windows,
        (SELECT coalesce(sum(scan_count), 0) FROM gold.carrier_throughput) AS in_hours,
        (SELECT count(DISTINCT window_start) FROM gold.stop_activity) AS windows,
        (SELECT count(*) FROM gold.busiest_stops WHERE rank = 1) AS boards,
        (SELECT count(*) FROM gold.busiest_stops AS board JOIN gold.stop_activity AS stop
            ON board.window_start = stop.window_start AND board.window_end = stop.window_end
            AND board.country IS NOT DISTINCT FROM stop.country AND board.state IS NOT DISTINCT FROM stop.state
            AND board.city IS NOT DISTINCT FROM stop.city AND board.postal_code IS NOT DISTINCT FROM stop.postal_code
            WHERE board.scan_count <> stop.scan_count) AS boards_behind,
        (SELECT count(*) FROM (
            SELECT DISTINCT tracking_number, occurred_at, count(*) OVER (PARTITION BY tracking_number
                ORDER BY epoch_us(occurred_at) RANGE BETWEEN 3_599_999_999 PRECEDING AND CURRENT ROW) AS failure_count
            FROM silver.ship_events WHERE status_code = 'DF'
            QUALIFY failure_count >= 3
        ) AS due FULL JOIN gold.failed_delivery_alerts AS alert USING (tracking_number, occurred_at, failure_count)
        WHERE due.tracking_number IS NULL OR alert.tracking_number IS NULL) AS wrong_alerts
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

BATCHES_WITH_NEWS = """
    SELECT started_at, committed_at FROM ops.batches
    WHERE len(list_filter(offsets, lambda part: part.start_offset < part.end_offset)) > 0
"""
REACHED = """
    SELECT table_name, version, offsets
    FROM (SELECT unnest(max_by(tables, batch_id), recursive := true) FROM ops.batches)
    JOIN ops.batches ON position = batch_id
"""
"""Where on the log each table stands, and which version of it the ledger has there."""

OF_WINDOWS = frozenset({"in_windows", "in_hours", "wrong_alerts"})
"""What `tests.window_bug` makes wrong of it."""


class Wrong(Enum):
    """Which windows may be those of `tests.window_bug`."""

    NONE = "none"
    ALL = "those of all tables, or of none: they are corrected at once"
    SOME = "those of some tables: a backfill that was cut off has corrected the others"

    def permits(self, found: set[str]) -> bool:
        """Whether this may be wrong in a picture, by the names of what is told of it."""
        return not found or (self is Wrong.ALL and found == OF_WINDOWS) or (self is Wrong.SOME and found <= OF_WINDOWS)


class Partial(AssertionError):
    """A reader saw a part of a batch."""


def check_whole(root: str, seen: Snapshot, windows: Wrong = Wrong.NONE) -> bool:
    """Whether the windows are right.

    Args:
        root: The lake.
        seen: The snapshot.
        windows: Which of them may be wrong.

    Raises:
        Partial: The tables of the snapshot do not agree with the ledger and with each other.
    """
    reader = LakeReader(root, seen.versions, seen.batch_id)
    (found,) = reader.query(CONSERVED).to_pylist()
    (promised,) = reader.query(PROMISED).to_pylist()
    expected = {
        **promised,
        "reports": found["packages"],
        "reports_behind": 0,
        "routes_behind": 0,
        "in_windows": 2 * found["scans"],
        "in_hours": found["scans"],
        "boards": found["windows"],
        "boards_behind": 0,
        "wrong_alerts": 0,
    }
    wrong = {name for name in expected if found[name] != expected[name]}
    if not windows.permits(wrong):
        raise Partial(f"batch {seen.batch_id}: {found}, not {expected}")
    return not wrong


class Auditor:
    """Reads the tables all the while, as anybody may, and in the end compares everything with the log.

    Args:
        root: The lake.
        settings: Where the log is.
        journal: What the load says was acknowledged.

    Attributes:
        seen: The batches of which it has seen a whole picture.
        fault_count: Faults that were told.
        gaps: Of those that were kills of the live job, where in a batch they hit (`lab.faults.gaps.GAPS`).
        recovered_after: Seconds from each outage to the end of the next batch that was read since, where one came; and
            what a command that was killed took to be finished.
    """

    def __init__(self, root: str, settings: Settings, journal: Path) -> None:
        self._root, self._settings, self._journal = root, settings, journal
        self._outages: list[datetime] = []
        self._finished_after: list[float] = []
        self.fault_count = 0
        self.gaps: list[str] = []
        self.seen: set[int] = set()
        self.recovered_after: list[float] = []

    @contextmanager
    def watching(self, windows: Wrong = Wrong.NONE, *, may_be_away: bool = False) -> Iterator[None]:
        """Reads snapshot after snapshot, in a thread of its own, and raises at the end what it saw wrong.

        Args:
            windows: Which of them may be wrong, and are so in one picture at least.
            may_be_away: Whether the lake may be out of reach meanwhile.

        Raises:
            Partial: A picture was not whole.
            AssertionError: It saw none, or none with the wrong windows that there may be.
        """
        away = (LakeUnavailable,) if may_be_away else ()
        failure: list[BaseException] = []
        seen: list[bool] = []
        has_ended = threading.Event()

        def watch() -> None:
            try:
                while not has_ended.wait(PAUSE_SECONDS):
                    with suppress(*away):
                        seen.extend(self._look(windows))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=watch, name="auditor", daemon=True)
        thread.start()
        try:
            yield
        except Exception as error:
            for other in failure:
                error.add_note(f"Meanwhile a reader saw: {other!r}")
            raise
        finally:
            has_ended.set()
            thread.join()
        for seen_failure in failure:
            raise seen_failure
        assert seen, "no reader saw a picture of the tables"
        assert windows is Wrong.NONE or not all(seen), "no reader saw a picture with the wrong windows"

    def _look(self, windows: Wrong) -> Iterator[bool]:
        try:
            seen = snapshot(self._root)
        except NotFound:
            return  # no consistent batch yet
        yield check_whole(self._root, seen, windows)
        self.seen.add(seen.batch_id)

    def note_fault(self, gap: str | None = None, *, is_outage: bool = True) -> None:
        """A fault happens now, or one that a person must mend is mended.

        Args:
            gap: Of a kill of the live job, where in a batch it hit.
            is_outage: Whether the tables stand still, so that the time to the next batch says something.
        """
        self.fault_count += 1
        self._outages += [datetime.now(UTC)] if is_outage else []
        self.gaps += [gap] if gap else []

    def note_finished(self, seconds: float) -> None:
        """A command that was killed is finished by another run of it, in so many seconds."""
        self._finished_after.append(seconds)

    @property
    def _security(self) -> Security:
        """Of who may read all topics, once the broker has begun."""
        return Connection.of(self._settings, "admin").security

    def judge(self) -> None:
        """Raises `AssertionError` when a promise was broken: all that was sent must be in the tables by now."""
        log = read_log(self._settings.bootstrap_servers, security=self._security)
        assert acknowledged(self._journal), "the load had nothing acknowledged"
        lost = not_once(self._journal, log)
        assert not lost, f"{len(lost)} acknowledged records are not on the log, for example {lost[0]}"
        kept = taken_back(self._journal, log)
        assert not kept, f"{len(kept)} aborted records are on the log, for example {kept[0]}"
        assert_lake_equals_log(self._root, log)
        check_whole(self._root, snapshot(self._root))
        reports = stored_rows(self._root, "gold.remaining_stops")
        assert_messages_tell(self._settings.bootstrap_servers, reports, self._security)
        self.recovered_after = [*self._finished_after, *self._recoveries()]

    def judge_refused(self, log: list[LogRecord]) -> None:
        """The same for a job that was refused to go on, with the log as it was before. In tables a batch may have begun
        that it cannot end: who reads a snapshot does not see it.
        """
        seen = snapshot(self._root)
        assert_lake_equals_log(self._root, log, versions=seen.versions)
        check_whole(self._root, seen)

    def judge_what_was_read(self) -> None:
        """The same for a job that ended before it came to the end of the log: each table is of what it has followed."""
        log = read_log(self._settings.bootstrap_servers, security=self._security)
        for row in LakeReader(self._root).query(REACHED).to_pylist():
            if (name := row["table_name"]) in COMPARED:
                ends = {(part["kafka_topic"], part["kafka_partition"]): part["end_offset"] for part in row["offsets"]}
                read = [each for each in log if each.offset < ends.get((each.topic, each.partition), 0)]
                assert_tables_equal_log(self._root, read, (name,), versions={name: row["version"]})

    def _recoveries(self) -> Iterator[float]:
        """To batches that were read since: not to one that was under way, nor to a row that reads nothing."""
        rows = LakeReader(self._root).query(BATCHES_WITH_NEWS).to_pylist()
        for outage in self._outages:
            later = [row["committed_at"] for row in rows if row["started_at"] > outage]
            if later:
                yield (min(later) - outage).total_seconds()
