"""`pts verify`: proves that the tables hold what the ledger says was read of the log, record for record."""

from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from pipelines import commands
from pipelines.checks.corrections import count_corrections
from pipelines.checks.verify_checks import CHECKS, STAGES, Check
from pipelines.errors import Violation
from pipelines.io.duckdb.reader import LakeReader
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import TABLES
from pipelines.values import rows_of

NEWEST_BATCH = "SELECT max(batch_id) AS batch_id FROM ledger"
TOPICS = """
    WITH topic AS (
        SELECT kafka_topic, sum(read_count)::BIGINT AS read_count, sum(accepted_count)::BIGINT AS accepted_count,
            sum(duplicate_count)::BIGINT AS duplicate_count, sum(quarantined_count)::BIGINT AS quarantined_count,
            count_if(read_count > 0)::BIGINT AS batch_count
        FROM batch_count WHERE batch_id <= getvariable('batch_id') GROUP BY kafka_topic
    ), passed AS (
        SELECT kafka_topic, sum(end_offset - start_offset)::BIGINT AS offset_count
        FROM offset_range WHERE batch_id <= getvariable('batch_id') GROUP BY kafka_topic
    )
    SELECT topic.*, offset_count - read_count AS gap_count FROM topic JOIN passed USING (kafka_topic)
    ORDER BY kafka_topic
"""


@dataclass(frozen=True)
class TopicTotal:
    """Records of a topic up to a batch; `batch_count` are the batches that read some of them, `gap_count` the offsets
    that were passed and hold no committed record: those of aborted transactions, and the markers that end one.
    """

    kafka_topic: str
    read_count: int
    accepted_count: int
    duplicate_count: int
    quarantined_count: int
    batch_count: int
    gap_count: int


@dataclass(frozen=True)
class Verified:
    """What was found in order.

    Attributes:
        batch_id: The newest batch that all tables have reached: they were compared there.
        ledger_batch_id: The newest batch of the ledger, which was checked up to there.
        checks: Names of the checks that held: all there are.
        topics: What the tables hold of each topic.
        correction_count: Duplicates that say something else than the scan that counts, as its city.
    """

    batch_id: int
    ledger_batch_id: int
    checks: tuple[str, ...]
    topics: tuple[TopicTotal, ...]
    correction_count: int

    def as_json(self) -> dict[str, Any]:
        """What was found, as JSON carries it."""
        counts = {
            total.kafka_topic: {name: count for name, count in asdict(total).items() if name != "kafka_topic"}
            for total in self.topics
        }
        return {
            "batch_id": self.batch_id,
            "ledger_batch_id": self.ledger_batch_id,
            "checks": list(self.checks),
            "counts": counts,
            "correction_count": self.correction_count,
        }


def run(_command: commands.Verify, settings: Settings) -> Verified:
    """Runs every check, in order, and stops at the first that does not hold. It only reads.

    The live job may go on. The ledger is checked as a whole; the tables are read at the versions of the newest batch
    that all of them have reached, so that what the job writes meanwhile is not seen.

    Raises:
        Violation: A check does not hold: which, where, the two values that disagree, and what to do.
        NotFound: No batch is consistent yet; or the last consistent one lacks a table of this code, or its versions are
            gone.
        LakeUnavailable: A table cannot be read.
    """
    at = snapshot(settings.lake_root)
    at.raise_if_missing(TABLES)
    reader = LakeReader(settings.lake_root, at.versions)
    with reader.opened(table.name for table in TABLES) as lake:
        return _verified(lake, at, settings.kafka.ship_events_format)


def _verified(lake: duckdb.DuckDBPyConnection, at: Snapshot, wire_format: str) -> Verified:
    lake.execute(f"SET VARIABLE batch_id = {at.batch_id}")
    for stage in STAGES:
        with part("Reading what is checked"):
            for statement in stage.prepare:
                lake.execute(statement)
        for check in stage.checks:
            with part(f"Checking {check.name}"):
                _raise_if_broken(lake, check)
    return Verified(
        batch_id=at.batch_id,
        ledger_batch_id=_rows(lake, NEWEST_BATCH)[0]["batch_id"],
        checks=tuple(check.name for check in CHECKS),
        topics=tuple(TopicTotal(**row) for row in _rows(lake, TOPICS)),
        correction_count=count_corrections(lake, wire_format),
    )


def _raise_if_broken(lake: duckdb.DuckDBPyConnection, check: Check) -> None:
    if found := _rows(lake, f"{check.sql} LIMIT 1"):
        raise Violation(check.sentence(found[0]))


def _rows(lake: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    return rows_of(lake.sql(sql).to_arrow_table())
