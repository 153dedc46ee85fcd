"""`pts replay plan`: what a replay would read, from where, what it needs, and whether it can succeed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from pipelines.commands import ReplayPlan
from pipelines.errors import LakeUnavailable, LogTruncated
from pipelines.graph import ARCHIVES
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.admin import begin_offsets, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import OffsetRange, Offsets, divided, ranges_between
from pipelines.io.storage.files import files_at
from pipelines.live.resume import check_ends, check_partitions
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.replay_records import Replays, Step
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import OPS_BATCHES, TABLES

SPARE = 1.3
"""Disk that a shadow needs, in sizes of the live tables: its files are as large, and merges leave old ones behind."""

START_SECONDS = 20.0
"""Until the first batch runs."""

TOTALS = f"""
    SELECT topic.kafka_topic AS topic, sum(topic.read_count)::BIGINT AS records
    FROM (SELECT unnest(counts) AS topic FROM {OPS_BATCHES.name} WHERE batch_id <= ?) GROUP BY ALL
"""
SPEED = f"""
    SELECT sum(records) / sum(seconds) AS speed FROM (
        SELECT list_sum([topic.read_count FOR topic IN counts]) AS records,
            date_diff('millisecond', started_at, committed_at) / 1000 AS seconds
        FROM {OPS_BATCHES.name} ORDER BY records DESC LIMIT 10
    ) WHERE seconds > 0
"""
"""Records per second of the ledger's ten largest batches."""

OFFSETS = f"""
    SELECT part.kafka_topic AS topic, part.kafka_partition AS partition, {{edge}} AS edge
    FROM (SELECT unnest(offsets) AS part FROM {OPS_BATCHES.name} WHERE batch_id {{batches}}) GROUP BY ALL
"""
EXPIRED = f"""
    WITH state AS (
        SELECT batch_id, unnest(tables, recursive := true) FROM {OPS_BATCHES.name} WHERE batch_id <= $1
    ),
    changed AS (
        SELECT batch_id, table_name, expired_before FROM state
        QUALIFY expired_before IS DISTINCT FROM lag(expired_before) OVER (PARTITION BY table_name ORDER BY batch_id)
    )
    FROM changed WHERE expired_before IS NOT NULL AND batch_id > (
        SELECT coalesce(max(batch_id), -1) FROM changed AS reset
        WHERE reset.table_name = changed.table_name
            AND (reset.expired_before IS NULL OR reset.expired_before < changed.expired_before)
    ) ORDER BY batch_id
"""
"""What the live lake removed, and did neither make again since nor get back by a promotion that stands."""


@dataclass(frozen=True)
class Source:
    """A range of the log and where it is read: `kafka`, or `bronze` where Kafka no longer has it."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    source: str


@dataclass(frozen=True)
class Plan:
    """What a replay up to an as-of batch would do.

    Attributes:
        fence: The batch of the live ledger; all tables are at it.
        committed_at: When the last of them came there.
        sources: What is read, in the order of topic, partition and offset.
        records: Records by topic.
        rows: Rows of the live tables at the as-of batch, by table: what is rebuilt.
        needed_bytes, free_bytes: Disk; none is known of a store.
        estimated_seconds: By the speed of the ledger's ten largest batches; None when it has none.
        begin, end, steps: See `Replay`.
    """

    fence: int
    committed_at: datetime
    sources: tuple[Source, ...]
    records: Mapping[str, int]
    rows: Mapping[str, int]
    needed_bytes: int
    free_bytes: int | None
    estimated_seconds: float | None
    begin: Offsets
    end: Offsets
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """The plan, as JSON carries it."""
        return {
            "fence": self.fence,
            "committed_at": self.committed_at.isoformat(),
            "sources": [asdict(source) for source in self.sources],
            "records": dict(self.records),
            "rows": dict(self.rows),
            "needed_bytes": self.needed_bytes,
            "free_bytes": self.free_bytes,
            "estimated_seconds": self.estimated_seconds,
        }


def run(command: ReplayPlan, settings: Settings) -> Plan:
    """The plan up to `command.at_batch`, or up to the newest batch at which all tables are.

    Raises:
        NotFound: There is no such batch, or not all tables were at it.
        LogTruncated: Neither Kafka nor bronze holds all of it, or Kafka ends before it.
        TopicMismatch: A topic has other partitions than the lake was built from.
        LakeUnavailable: Too little disk.
        AnotherWriter: Another replay is under way.
        InvalidInput: The lake is not in a folder.
        BrokerUnavailable: No broker answers.
    """
    replays = Replays(settings.lake_root)
    at = snapshot(settings.lake_root, command.at_batch)
    with replays.one_at_a_time(), part("Counting records and rows"):
        return plan_until(at, settings)


def plan_until(at: Snapshot, settings: Settings) -> Plan:
    """The plan up to a snapshot, for a caller that already holds the lake's replays."""
    root = settings.lake_root
    reader = LakeReader(root)
    begin, end = (
        _offsets(reader, at.batch_id, edge, batches)
        for edge, batches in (("min(part.start_offset)", "<= ?"), ("max(part.end_offset)", "= ?"))
    )
    sources = _sources(begin, end, settings)
    records = {row["topic"]: row["records"] for row in reader.query(TOTALS, [at.batch_id]).to_pylist()}
    rows, sizes = _rows_and_bytes(LakeReader(root, at.versions))
    _check_bronze(reader, sources, records, end)
    needed, free = int(sum(sizes.values()) * SPARE), files_at(root).free_bytes()
    if free is not None and free < needed:
        raise LakeUnavailable(
            f"A replay needs about {needed / 2**20:,.0f} MiB for its tables, and {root} has {free / 2**20:,.0f} MiB "
            "free. Make room: `pts replay list` shows older ones that `pts replay drop` deletes."
        )
    speed = reader.query(SPEED).to_pylist()[0]["speed"]
    return Plan(
        fence=at.batch_id,
        committed_at=at.committed_at,
        sources=tuple(sources),
        records=records,
        rows=rows,
        needed_bytes=needed,
        free_bytes=free,
        estimated_seconds=START_SECONDS + sum(records.values()) / speed if speed else None,
        begin=begin,
        end=end,
        steps=_steps(reader, at.batch_id, end),
    )


def _offsets(reader: LakeReader, fence: int, edge: str, batches: str) -> Offsets:
    found: Offsets = {}
    for row in reader.query(OFFSETS.format(edge=edge, batches=batches), [fence]).to_pylist():
        found.setdefault(row["topic"], {})[row["partition"]] = row["edge"]
    return found


def _sources(begin: Offsets, end: Offsets, settings: Settings) -> list[Source]:
    connection = Connection.of(settings)
    first, after = begin_offsets(connection, begin), end_offsets(connection, begin)
    for topic, partitions in end.items():
        check_partitions(topic, partitions, after[topic])
    check_ends(end, after)
    gone, there = divided(ranges_between(begin, end), first)
    found = [_source(part, "bronze") for part in gone] + [_source(part, "kafka") for part in there]
    return sorted(found, key=lambda source: (source.topic, source.partition, source.start_offset))


def _source(part: OffsetRange, source: str) -> Source:
    return Source(part.topic, part.partition, part.start, part.end, source)


def _rows_and_bytes(reader: LakeReader) -> tuple[dict[str, int], dict[str, int]]:
    rows, sizes = {}, {}
    for table in TABLES:
        if table.follows_log:
            files = pa.table(reader.open(table.name).get_add_actions(flatten=True))
            files = files.select(["num_records", "size_bytes"]).to_pylist()
            rows[table.name] = sum(file["num_records"] for file in files)
            sizes[table.name] = sum(file["size_bytes"] for file in files)
    return rows, sizes


def _check_bronze(reader: LakeReader, sources: list[Source], records: Mapping[str, int], end: Offsets) -> None:
    for topic in sorted({source.topic for source in sources if source.source == "bronze"}):
        known = [f"(kafka_partition = {number} AND kafka_offset < {offset})" for number, offset in end[topic].items()]
        count = "count(DISTINCT (kafka_partition, kafka_offset)) AS row_count"
        query = f"SELECT {count} FROM {ARCHIVES[topic].name} WHERE {' OR '.join(known)}"
        found = reader.query(query).to_pylist()[0]["row_count"]
        if found != records[topic]:
            raise LogTruncated(
                f"Kafka no longer holds the beginning of {topic}, and {ARCHIVES[topic].name} has {found:,} of the "
                f"{records[topic]:,} records that the ledger counts: history cannot be replayed. Restore one of the "
                "two from a backup."
            )


def _steps(reader: LakeReader, fence: int, end: Offsets) -> tuple[Step, ...]:
    """Up to each batch at which the live lake removed rows, then up to the as-of batch."""
    limits: dict[int, dict[str, datetime]] = {}
    for row in reader.query(EXPIRED, [fence]).to_pylist():
        limits.setdefault(row["batch_id"], {})[row["table_name"]] = row["expired_before"]
    ends = "max(part.end_offset)", "= ?"
    expiries = [
        Step(end=_offsets(reader, batch, *ends), batch_id=batch, expired_before=found)
        for batch, found in limits.items()
    ]
    return (*expiries, Step(end=end, batch_id=fence))
