"""What arrived of one package: its accepted records, the batches that took them in, and which versions show those."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.io.duckdb.reader import LakeReader
from pipelines.tables import GOLD_REMAINING_STOPS, OPS_BATCHES, SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES

REPORTS, LEDGER = GOLD_REMAINING_STOPS.name, OPS_BATCHES.name
SCANS, ROUTES = SILVER_SHIP_EVENTS.name, SILVER_SHIP_ROUTES.name


@dataclass(frozen=True)
class AcceptedRecord:
    """An accepted record of the package.

    Attributes:
        kind: `scan`, `route` or `withdrawal`.
        topic: Its topic.
        place: Its partition and offset, `partition@offset`.
        stop_id: Stop of the scan, last stop of the route; None for a withdrawal.
        batch_id: The batch that took it in; None while that is not in the ledger yet.
    """

    kind: str
    topic: str
    place: str
    stop_id: int | None
    batch_id: int | None

    @property
    def coordinates(self) -> str:
        return f"{self.topic}/{self.place}"


@dataclass(frozen=True)
class Batch:
    """A batch of the ledger.

    Attributes:
        batch_id: The batch.
        committed_at: When its last table was written.
        versions: The first version of each table that shows it; a table that does not yet is missing.
        reported_in: The batch that ended with that version of gold.remaining_stops; None when it does not show it yet.
    """

    batch_id: int
    committed_at: datetime
    versions: Mapping[str, int]
    reported_in: int | None


def accepted_records_of(reader: LakeReader, tracking_number: int) -> list[AcceptedRecord]:
    """The package's accepted records in the order of batches and of the log; those not in the ledger yet come last."""
    sql = f"""
        WITH records AS (
            SELECT 'scan' AS kind, current_stop_id AS stop_id, kafka_topic, kafka_partition, kafka_offset
            FROM {SCANS} WHERE tracking_number = $1
            UNION ALL
            SELECT if(is_withdrawn, 'withdrawal', 'route'), end_stop_id, kafka_topic, kafka_partition, kafka_offset
            FROM {ROUTES} WHERE tracking_number = $1
        ), ranges AS (
            SELECT batch_id, unnest(offsets, recursive := true) FROM {LEDGER}
        )
        SELECT kind, records.kafka_topic AS topic, records.kafka_partition || '@' || kafka_offset AS place, stop_id,
            batch_id
        FROM records LEFT JOIN ranges
        ON records.kafka_topic = ranges.kafka_topic AND records.kafka_partition = ranges.kafka_partition
            AND kafka_offset >= start_offset AND kafka_offset < end_offset
        ORDER BY batch_id NULLS LAST, topic, records.kafka_partition, kafka_offset
        """
    return [AcceptedRecord(**row) for row in reader.query(sql, [tracking_number]).to_pylist()]


def batches_of(reader: LakeReader, batch_ids: Collection[int]) -> dict[int, Batch]:
    """The batches by their number, as far as the ledger has them."""
    if not batch_ids:
        return {}
    sql = f"""
        WITH states AS (
            SELECT batch_id, unnest(tables, recursive := true) FROM (FROM {LEDGER} WHERE batch_id >= list_min($1))
        ), shown AS (
            SELECT wanted, table_name, min(batch_id) AS shown_in, arg_min(version, batch_id) AS version
            FROM (SELECT unnest($1) AS wanted) JOIN states ON position >= wanted
            WHERE table_name IN ('{REPORTS}', '{SCANS}', '{ROUTES}') GROUP BY ALL
        )
        SELECT batch_id, committed_at, table_name, shown_in, version
        FROM {LEDGER} LEFT JOIN shown ON batch_id = wanted WHERE batch_id IN $1
        """
    rows = reader.query(sql, [sorted(batch_ids)]).to_pylist()
    by_batch: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_batch.setdefault(row["batch_id"], []).append(row)
    return {batch_id: _batch(shown) for batch_id, shown in by_batch.items()}


def _batch(rows: list[dict[str, Any]]) -> Batch:
    """From one row for each table that shows it, or one without a table."""
    shown = {row["table_name"]: row for row in rows if row["table_name"]}
    return Batch(
        batch_id=rows[0]["batch_id"],
        committed_at=rows[0]["committed_at"],
        versions={name: row["version"] for name, row in shown.items()},
        reported_in=shown[REPORTS]["shown_in"] if REPORTS in shown else None,
    )
