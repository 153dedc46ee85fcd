"""What the oracle expects of a lake, in the form in which tables are read back."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import PLAINTEXT
from pipelines.kafka_security import Security
from pipelines.tables import TABLES
from tests.frames import in_order
from tests.integration.log_reader import read_log
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables

Rows = list[dict[str, Any]]

COMPARED = tuple(table.name for table in TABLES if table.layer in ("silver", "gold"))


def expected_rows(records: Iterable[LogRecord], wire_format: str = "csv") -> dict[str, Rows]:
    """The oracle's rows by table, in an order of their own."""
    found = expected_tables(records, wire_format, wire_format)
    for row in found["silver.quarantine"]:
        row["headers"] = _headers(row["headers"])
    return {name: in_order(found[name]) for name in COMPARED}


def expected_bronze(records: Iterable[LogRecord], topic: str) -> Rows:
    """Every record of a topic, without `ingested_at`."""
    return in_order(archived(record) for record in records if record.topic == topic)


def archived(record: LogRecord) -> dict[str, Any]:
    """A record as bronze has it, and as the job reads it from Kafka."""
    return {
        "key": record.key,
        "value": record.value,
        "headers": _headers(record.headers),
        "kafka_topic": record.topic,
        "kafka_partition": record.partition,
        "kafka_offset": record.offset,
        "kafka_timestamp": record.timestamp,
    }


def in_micros(rows: pa.Table) -> pa.Table:
    """Times as the oracle writes them: microseconds since the Unix epoch."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            rows = rows.set_column(number, field.name, rows.column(number).cast(pa.int64()))
    return rows


def stored_rows(
    lake_root: str,
    table: str,
    without: tuple[str, ...] = (),
    where: str = "true",
    versions: Mapping[str, int] | None = None,
) -> Rows:
    """A table's rows, read by delta-rs and DuckDB: not by the engine that wrote them. At the newest version, if none is
    given.
    """
    found = in_micros(LakeReader(lake_root, versions).query(f"SELECT * FROM {table} WHERE {where}"))
    return in_order(found.drop_columns([name for name in without if name in found.column_names]).to_pylist())


def assert_lake_equals_log(
    lake_root: str, records: list[LogRecord], wire_format: str = "csv", versions: Mapping[str, int] | None = None
) -> None:
    """Bronze is the log, record for record; silver, quarantine and gold are the oracle's, row for row."""
    for topic in ("ship-events", "ship-routes"):
        bronze = stored_rows(
            lake_root, f"bronze.{topic.replace('-', '_')}", without=("ingested_at",), versions=versions
        )
        assert bronze == expected_bronze(records, topic), topic
    assert_tables_equal_log(lake_root, records, COMPARED, wire_format, versions=versions)


def assert_tables_equal_log(
    lake_root: str,
    records: list[LogRecord],
    tables: Iterable[str],
    wire_format: str = "csv",
    where: str = "true",
    versions: Mapping[str, int] | None = None,
) -> None:
    """These of silver, quarantine and gold are the oracle's, row for row; or those of which a condition is true."""
    expected = expected_rows(records, wire_format)
    for table in tables:
        assert stored_rows(lake_root, table, ("detail",), where, versions) == expected[table], table


def assert_messages_tell(bootstrap_servers: str, reports: Rows, security: Security = PLAINTEXT) -> None:
    """The last message about each package is its report, and there is one about each."""
    messages = read_log(bootstrap_servers, ("package-reports",), security=security)
    last = {message.key: json.loads(message.value or b"") for message in messages}
    told = {
        key: (each["numberOfRemainingStops"], each["eventKafkaOffset"], each["routeKafkaOffset"])
        for key, each in last.items()
    }
    assert told == {
        str(row["tracking_number"]).encode(): (
            row["number_of_remaining_stops"],
            row["event_kafka_offset"],
            row["route_kafka_offset"],
        )
        for row in reports
    }


def _headers(headers: tuple[tuple[str, bytes | None], ...] | None) -> list[dict[str, Any]] | None:
    return None if headers is None else [{"key": key, "value": value} for key, value in headers]
