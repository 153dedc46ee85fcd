"""Every metric that tools may rely on: its name, type, labels and meaning. What is not named here is not exposed."""

from dataclasses import dataclass
from typing import Literal

ANSWER_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCH_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0)
QUERY_SECONDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0, 300.0, 600.0)
FRESHNESS_SECONDS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0)

OUTCOMES = ("accepted", "duplicate", "quarantined")
QUERY_OUTCOMES = ("answered", "refused", "failed", "cancelled")
SEAL_OUTCOMES = ("understood", "whole", "cut")
PHASES = ("records", "catch_up", "ledger")


@dataclass(frozen=True)
class Metric:
    """A name and what it counts or measures.

    Attributes:
        name: By Prometheus' conventions: the unit last, in base units; `_total` for a counter.
        kind: Its type.
        doc: What it says, as one sentence.
        labels: By what its samples differ.
        buckets: Upper bounds of a histogram, in the metric's unit.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    doc: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def samples(self) -> tuple[str, ...]:
        """The names under which a query finds its samples."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


RECORDS = Metric(
    "pts_records_total",
    "counter",
    "Records read from the log since the job's start, by what became of them: accepted, duplicate, quarantined.",
    ("topic", "outcome"),
)
BATCH_DURATION = Metric(
    "pts_batch_duration_seconds",
    "histogram",
    "How long batches took, from their start to their row in the ledger.",
    buckets=BATCH_SECONDS,
)
PHASE_DURATION = Metric(
    "pts_batch_phase_duration_seconds",
    "histogram",
    "How long the parts of batches took: records (all that moves with every batch, reports included), catch_up (tables "
    "over windows), ledger (the batch's row).",
    ("phase",),
    BATCH_SECONDS,
)
FRESHNESS = Metric(
    "pts_record_freshness_seconds",
    "histogram",
    "From an accepted record's time on the log to the ledger's row with which gold.remaining_stops shows it.",
    buckets=FRESHNESS_SECONDS,
)
LAG_RECORDS = Metric(
    "pts_lag_records", "gauge", "Records between the job and the end of the log.", ("topic", "partition")
)
LAG_SECONDS = Metric("pts_lag_seconds", "gauge", "How long ago the log ended where the job is now; 0 without lag.")
HEARTBEAT = Metric("pts_heartbeat_timestamp_seconds", "gauge", "When the lag was measured; about once a second.")
LAST_BATCH = Metric("pts_last_batch_id", "gauge", "Number of the ledger's newest batch that the job knows.")
LAST_BATCH_AT = Metric("pts_last_batch_timestamp_seconds", "gauge", "When that batch was committed.")
POSITION = Metric("pts_table_position", "gauge", "The batch up to which a table follows the log.", ("table",))
TABLE_FILES = Metric("pts_table_files", "gauge", "Files of a table's newest version.", ("table",))
TABLE_SIZE = Metric("pts_table_size_bytes", "gauge", "Size of these files.", ("table",))
REPLAY_PLANNED = Metric("pts_replay_planned_records", "gauge", "Offsets of the log that a replay covers.", ("replay",))
REPLAY_DONE = Metric("pts_replay_done_records", "gauge", "Those of them that it has replayed.", ("replay",))

JOB = (
    *(RECORDS, BATCH_DURATION, PHASE_DURATION, FRESHNESS, LAG_RECORDS, LAG_SECONDS, HEARTBEAT, LAST_BATCH),
    *(LAST_BATCH_AT, POSITION, TABLE_FILES, TABLE_SIZE, REPLAY_PLANNED, REPLAY_DONE),
)
"""Of `pts stream`."""

API_REQUESTS = Metric(
    "pts_api_requests_total",
    "counter",
    "Requests by the route's template and the answer's status; `other` is no route, or refused before one.",
    ("route", "status"),
)
API_DURATION = Metric(
    "pts_api_request_duration_seconds",
    "histogram",
    "How long until an answer began; of a stream, until it was opened.",
    ("route",),
    ANSWER_SECONDS,
)
API_STREAMS = Metric("pts_api_open_streams", "gauge", "Streams that are open, and questions that wait for a position.")
API_POSITION = Metric(
    "pts_api_view_offset", "gauge", "Offset of the next message of package-reports to be read.", ("partition",)
)
API_READY = Metric("pts_api_ready", "gauge", "1 while reports are as new as the log, else 0: clients get 503.")

API = (API_REQUESTS, API_DURATION, API_STREAMS, API_POSITION, API_READY)
"""Of `pts api`."""

BOARD_REQUESTS = Metric(
    "pts_board_requests_total",
    "counter",
    "Requests by the route's template and the answer's status; `other` is no route, or refused before one.",
    ("route", "status"),
)
BOARD_DURATION = Metric(
    "pts_board_request_duration_seconds", "histogram", "How long until a page began.", ("route",), ANSWER_SECONDS
)
BOARD_BATCH = Metric("pts_board_view_batch_id", "gauge", "The batch of the page that was drawn last; -1 before one.")

BOARD = (BOARD_REQUESTS, BOARD_DURATION, BOARD_BATCH)
"""Of `pts board`."""

SQL_QUERIES = Metric(
    "pts_sql_queries_total",
    "counter",
    "Queries by what became of them: answered (closed after rows were given), refused (never executed), failed, "
    "cancelled (by a client, or because it took too long).",
    ("outcome",),
)
SQL_DURATION = Metric(
    "pts_sql_query_duration_seconds",
    "histogram",
    "How long the server worked at a query that was executed, without the time between fetches.",
    buckets=QUERY_SECONDS,
)
SQL_SESSIONS = Metric("pts_sql_open_sessions", "gauge", "Sessions that are open; without a query, for an hour at most.")

SQL = (SQL_QUERIES, SQL_DURATION, SQL_SESSIONS)
"""Of `pts sql-server`."""

SEALED_RECORDS = Metric(
    "pts_sealed_records_total",
    "counter",
    "Records moved to the kept topics, by how: understood (its personal fields, where it has any, in an envelope), "
    "whole (not understood, all of it in one), cut (too large for that, its beginning in one).",
    ("topic", "outcome"),
)
SEAL_LAG = Metric(
    "pts_seal_lag_records", "gauge", "Records of the intake topics that are not moved yet.", ("topic", "partition")
)
LAST_SEALED_AT = Metric(
    "pts_seal_last_batch_timestamp_seconds", "gauge", "When records were last moved; 0 before the first."
)

SEAL = (SEALED_RECORDS, SEAL_LAG, LAST_SEALED_AT)
"""Of `pts seal`."""

METRICS = (*JOB, *API, *BOARD, *SQL, *SEAL)
