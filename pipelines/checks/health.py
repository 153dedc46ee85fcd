"""`pts health`: how the running system does, from heartbeat, log, ledger and tables; without a JVM."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pipelines.commands import Health
from pipelines.contracts.topics import INPUT_TOPICS, intake_of
from pipelines.errors import Unhealthy
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.admin import begin_offsets, end_offsets, records_between
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.groups import group_offsets
from pipelines.io.kafka.mover import NAME as SEALER
from pipelines.processes import airflow
from pipelines.processes.supervisor import Supervisor
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.heartbeat import last_beat
from pipelines.tables import NOT_IN_THE_LEDGER, OPS_BATCHES, SILVER_SHIP_EVENTS, TABLES

QUARANTINE_SPAN = "1 HOUR"
SLOW = "the job cannot keep up, or waits: look at its log"

POSITION = f"""
    SELECT unnest(offsets, recursive := true) FROM (FROM {OPS_BATCHES.name} ORDER BY batch_id DESC LIMIT 1)
"""
WAITING = f"""
    WITH state AS (
        SELECT unnest(tables, recursive := true) FROM {OPS_BATCHES.name}
        WHERE batch_id = (SELECT max(batch_id) FROM {OPS_BATCHES.name})
    )
    SELECT table_name, min(committed_at) AS since FROM state JOIN {OPS_BATCHES.name} ON batch_id > position
    GROUP BY table_name ORDER BY since LIMIT 1
"""
"""The table that lacks the oldest batch, and when that was committed."""

REJECTED = f"""
    SELECT sum(read_count)::BIGINT AS read_count, sum(quarantined_count)::BIGINT AS quarantined_count
    FROM (
        SELECT unnest(counts, recursive := true) FROM {OPS_BATCHES.name}
        WHERE replay_id IS NULL AND committed_at > $1::TIMESTAMPTZ - INTERVAL {QUARANTINE_SPAN}
    )
"""


SCATTERED = f"""
    SELECT count(*) AS package_count FROM (
        SELECT 1 FROM {SILVER_SHIP_EVENTS.name} GROUP BY tracking_number
        HAVING min(kafka_partition) < max(kafka_partition)
    )
"""


@dataclass(frozen=True)
class Reading:
    """One thing that was measured.

    Attributes:
        name: What; its unit is the last word.
        value: How much; None when it cannot be told, which is as bad as too much.
        limit: The most that is right.
        subject: Of which table, where there are many.
        advice: What to do when it is more.
    """

    name: str
    value: float | None
    limit: float
    advice: str
    subject: str | None = None

    @property
    def is_met(self) -> bool:
        return self.value is not None and self.value <= self.limit

    def sentence(self) -> str:
        """What is wrong, and what to do."""
        subject = f" of {self.subject}" if self.subject else ""
        value = "unknown" if self.value is None else f"{self.value:,g}"
        return f"{self.name}{subject} is {value}, at most {self.limit:,g} is right: {self.advice}."

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"is_met": self.is_met}


def run(_command: Health, settings: Settings, now: datetime | None = None) -> list[Reading]:
    """All readings, met or not. It only reads, and the job may run.

    On a lake at a URI the job leaves no heartbeat: `heartbeat_seconds` and `lag_seconds` are not among them.

    Raises:
        BrokerUnavailable: No broker answers.
        NotFound: There is no table yet.
    """
    with part("Measuring job, log and lake"):
        return list(_readings(settings, now or datetime.now(UTC)))


def raise_if_beyond(readings: list[Reading]) -> None:
    """Raises `Unhealthy` when one is beyond its limit."""
    if unmet := [reading.sentence() for reading in readings if not reading.is_met]:
        raise Unhealthy(" ".join(unmet))


def _readings(settings: Settings, now: datetime) -> Iterator[Reading]:
    limits, reader = settings.health, LakeReader(settings.lake_root)
    yield from of_the_job(settings, reader, now)
    yield Reading("lag_records", _behind(settings, reader), limits.lag_records, SLOW)
    if settings.seal.enabled:
        yield Reading(
            "unsealed_records", _unsealed(settings), limits.lag_records,
            "`pts seal` does not run, or does not keep up: intake topics delete records after "
            f"{settings.seal.intake_hours} h (PTS_SEAL__INTAKE_HOURS)",
        )  # fmt: skip
    (scattered,) = reader.query(SCATTERED).to_pylist()
    yield Reading(
        "scattered_packages", scattered["package_count"], 0,
        "they have scans in more than one partition: a producer does not use murmur2, Kafka's own partitioner",
    )  # fmt: skip
    there = set(reader.table_names())
    names = [table.name for table in (*TABLES, *(each for each in NOT_IN_THE_LEDGER if each.name in there))]
    files = {name: len(reader.open(name).file_uris()) for name in names}
    largest = max(files, key=lambda name: files[name])
    yield Reading("file_count", files[largest], limits.file_count, "`pts compact` makes few of many", largest)
    if Supervisor(settings).services()["airflow-scheduler"].is_alive:
        yield Reading(
            "airflow_task_seconds", airflow.seconds_without_a_task(settings, now), limits.airflow_task_seconds,
            f"Airflow starts none: {airflow.LOOK.format(airflow.home(settings))}",
        )  # fmt: skip


def of_the_job(settings: Settings, reader: LakeReader, now: datetime) -> Iterator[Reading]:
    """The readings that heartbeat and ledger give, at once and without a broker."""
    yield from _of_the_heart(settings, now)
    (waiting,) = reader.query(WAITING).to_pylist() or [{"table_name": None, "since": now}]
    yield Reading(
        "freshness_seconds", _seconds_since(waiting["since"], now), settings.health.freshness_seconds,
        "the table does not follow the batches: look at the job's log", waiting["table_name"],
    )  # fmt: skip
    (rejected,) = reader.query(REJECTED, [now]).to_pylist()
    yield Reading(
        "quarantine_ratio", (rejected["quarantined_count"] or 0) / (rejected["read_count"] or 1),
        settings.quality.quarantined_share, "a producer or a rule has changed: `pts quarantine list`",
    )  # fmt: skip


def _of_the_heart(settings: Settings, now: datetime) -> Iterator[Reading]:
    """What the live job says of itself."""
    told = last_beat(settings.lake_root)
    silence = None if told is None else _seconds_since(told["at"], now)
    limit, advice = settings.health.heartbeat_seconds, "`pts status` tells whether the job runs and has its log"
    yield Reading("heartbeat_seconds", silence, limit, advice)
    lag_seconds = None if told is None or silence is None else told["lag_seconds"] + silence
    yield Reading("lag_seconds", lag_seconds, settings.health.lag_seconds, SLOW)


def _seconds_since(moment: datetime, now: datetime) -> float:
    """None of what has happened while this looks is a negative age."""
    return max(0.0, (now - moment).total_seconds())


def reached(reader: LakeReader) -> dict[str, dict[int, int]]:
    """Where the ledger is on the log."""
    offsets: dict[str, dict[int, int]] = {}
    for row in reader.query(POSITION).to_pylist():
        offsets.setdefault(row["kafka_topic"], {})[row["kafka_partition"]] = row["end_offset"]
    return offsets


def _unsealed(settings: Settings) -> int:
    """Records of the intake topics that `pts seal` has not moved."""
    names = [intake_of(topic, settings.seal.intake_hours).name for topic in INPUT_TOPICS]
    connection = Connection.of(settings)
    position = group_offsets(connection, SEALER, names)
    first = begin_offsets(connection, names)
    reached = {
        name: {partition: max(offset, position[name].get(partition, 0)) for partition, offset in first[name].items()}
        for name in names
    }
    return records_between(reached, end_offsets(connection, names))


def _behind(settings: Settings, reader: LakeReader) -> int:
    """Records between the ledger and the ends of the log. The ends are asked for last: the job goes on meanwhile."""
    position = reached(reader)
    return records_between(position, end_offsets(Connection.of(settings), [topic.name for topic in INPUT_TOPICS]))
