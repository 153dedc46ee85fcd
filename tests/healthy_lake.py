"""A small lake in which everything is as it should be, written without the job and without a JVM.

It has what an old lake has: duplicates, rejects of both topics, a gap that a transaction's marker left, packages
without a route or without a scan, a withdrawal, alerts, windows and a report that were removed, a maintenance batch,
and at its end a batch that the tables over windows have not reached yet.
"""

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.tables import TABLES, Table
from tests.oracle.makers import at, route, scan, withdrawal
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables
from tests.rows import ARROW

Row = dict[str, Any]

LET_GO_BEFORE = at("09:00")
LET_GO_PACKAGE = 44
CONSISTENT_BATCH, EXPIRY_BATCH = 3, 2

BATCHES: tuple[tuple[LogRecord, ...], ...] = (
    (
        scan(42, "10:00", status="DF", stop=1, offset=0),
        scan(42, "10:20", status="DF", stop=2, offset=1),
        scan(42, "10:00", status="DF", stop=1, offset=2, logged="10:21"),
        replace(scan(42, "10:22", offset=3), value=None),
        *(
            scan(44, clock, status="DF", stop=1, partition=1, offset=n)
            for n, clock in enumerate(("07:00", "07:10", "07:20"))
        ),
        scan(44, "08:00", status="DL", stop=9, partition=1, offset=3),
        route(42, offset=0),
        route(43, offset=1),
        replace(route(46, offset=2), value=b""),
    ),
    (
        scan(42, "10:30", status="DF", stop=3, carrier="", offset=5),  # offset 4: the marker of a transaction
        scan(42, "10:45", status="DL", stop=12, offset=6),
        *(scan(43, "11:00", stop=n, place=f"US,NY,Stop {n},", partition=1, offset=4 + n) for n in range(12)),
        scan(43, "11:00", stop=0, place="US,NY,Stop 0,", partition=1, offset=16),
    ),
    (),
    (
        scan(45, "11:02", status="", place=",,,", partition=1, offset=17),
        withdrawal(43, offset=3, logged="11:03"),
        route(46, offset=4, logged="11:03"),
    ),
    (scan(42, "10:50", status="IT", stop=13, offset=7),),
)


@dataclass
class HealthyLake:
    """Rows to be written, free to be spoilt before. Times are microseconds since the epoch.

    Attributes:
        tables: By name, as they stand at `CONSISTENT_BATCH`; of the ledger, all rows.
        later: By name, as the batch after that leaves those tables that it has written.
    """

    tables: dict[str, list[Row]]
    later: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def ledger(self) -> list[Row]:
        return self.tables["ops.batches"]

    def write(self, root: Path) -> None:
        """One version of every table, and a second one of those written later."""
        healthy, there = _written()
        for table in TABLES:
            place, versions = root / table.folder, self.versions(table)
            if versions and versions == healthy.versions(table) and not place.exists():
                shutil.copytree(there / table.folder, place)
            else:
                _write(versions, table, place)

    def versions(self, table: Table) -> list[list[Row]]:
        """The table's rows, version by version; none of a table that is not there."""
        return [tables[table.name] for tables in (self.tables, self.later) if table.name in tables]


@cache
def _written() -> tuple[HealthyLake, Path]:
    """A healthy lake and where it is: most tables of those that are spoilt are as in this one."""
    lake, root = healthy_lake(), Path(tempfile.mkdtemp(prefix="healthy-lake-"))
    atexit.register(shutil.rmtree, root)
    for table in TABLES:
        _write(lake.versions(table), table, root / table.folder)
    return lake, root


def _write(versions: list[list[Row]], table: Table, place: Path) -> None:
    for rows in versions:
        write_deltalake(place, pa.Table.from_pylist(rows, schema=_schema(table)), mode="overwrite")


def healthy_lake() -> HealthyLake:
    """A new one each time."""
    records = [record for batch in BATCHES for record in batch]
    then, now = _tables(records[: -len(BATCHES[-1])]), _tables(records)
    later = {name: now[name] for name in ("bronze.ship_events", "silver.ship_events", "gold.remaining_stops")}
    then["ops.batches"] = [_ledger_row(number, set(later)) for number in range(len(BATCHES))]
    return HealthyLake(then, later)


def _tables(records: list[LogRecord]) -> dict[str, list[Row]]:
    rows = expected_tables(records)
    del rows["counts"]
    for topic in ("ship-events", "ship-routes"):
        rows[f"bronze.{topic.replace('-', '_')}"] = [_bronze_row(record) for record in records if record.topic == topic]
    for table in TABLES:
        if table.expiry and table.expiry.column != "occurred_at":
            rows[table.name] = [row for row in rows[table.name] if row["window_end"] >= LET_GO_BEFORE]
    alerts, reports = "gold.failed_delivery_alerts", "gold.remaining_stops"
    rows[alerts] = [row for row in rows[alerts] if row["occurred_at"] >= LET_GO_BEFORE]
    rows["ops.redriven_records"] = []
    rows["ops.expired_reports"] = [row for row in rows[reports] if row["tracking_number"] == LET_GO_PACKAGE]
    rows[reports] = [row for row in rows[reports] if row["tracking_number"] != LET_GO_PACKAGE]
    return rows


def _bronze_row(record: LogRecord) -> Row:
    return {
        "key": record.key,
        "value": record.value,
        "kafka_topic": record.topic,
        "kafka_partition": record.partition,
        "kafka_offset": record.offset,
        "kafka_timestamp": record.timestamp,
        "ingested_at": at("12:00"),
    }


def _ledger_row(number: int, written_later: set[str]) -> Row:
    return {
        "batch_id": number,
        "checkpoint_id": "checkpoint",
        "checkpoint_batch_id": number,
        "started_at": at("12:00"),
        "committed_at": at("12:01"),
        "offsets": [
            {
                "kafka_topic": topic,
                "kafka_partition": partition,
                "start_offset": _end(topic, partition, number),
                "end_offset": _end(topic, partition, number + 1),
            }
            for topic, partition in (("ship-events", 0), ("ship-events", 1), ("ship-routes", 0))
        ],
        "counts": _counts(number),
        "tables": [_state(table.name, number, written_later) for table in TABLES if table.name != "ops.batches"],
        "replay_id": None,
    }


def _end(topic: str, partition: int, batches: int) -> int:
    """Where the first batches end in a partition."""
    read = _records(BATCHES[:batches])
    return max((r.offset + 1 for r in read if (r.topic, r.partition) == (topic, partition)), default=0)


def _counts(number: int) -> list[Row]:
    """Of one batch: what the oracle counts up to it, less what it counts up to the batch before."""
    before, after = (expected_tables(_records(BATCHES[:end]))["counts"] for end in (number, number + 1))
    return [
        {"kafka_topic": new["topic"]} | {name: new[name] - old[name] for name in new if name != "topic"}
        for old, new in zip(before, after, strict=True)
    ]


def _state(table: str, number: int, written_later: set[str]) -> Row:
    is_later, has_windows = number > CONSISTENT_BATCH, table.startswith("gold.") and table != "gold.remaining_stops"
    expires = table.startswith("gold.") and number >= EXPIRY_BATCH
    return {
        "table_name": table,
        "version": int(is_later and table in written_later),
        "position": CONSISTENT_BATCH if is_later and has_windows else number,
        "expired_before": LET_GO_BEFORE if expires else None,
    }


def _records(batches: Iterable[tuple[LogRecord, ...]]) -> list[LogRecord]:
    return [record for batch in batches for record in batch]


def _schema(table: Table) -> pa.Schema:
    return pa.schema([pa.field(column.name, _arrow(column.type), not column.is_required) for column in table.columns])


def _arrow(type_: str) -> pa.DataType:
    """The Arrow type of a column's Spark SQL type."""
    if is_nested := re.fullmatch(r"(ARRAY|STRUCT)<(.*)>", type_):
        kind, inner = is_nested.groups()
        if kind == "ARRAY":
            return pa.list_(_arrow(inner))
        members = (member.split(": ") for member in inner.split(", "))
        return pa.struct([(name.strip("`"), _arrow(member)) for name, member in members])
    return ARROW[type_]
