"""The page of tables, and the columns that outside readers rely on."""

from pathlib import Path

import pytest

from pipelines.tables.docs import DOCUMENTED, tables_page

ROOT = Path(__file__).parents[2]
BY_NAME = {table.name: table for table in DOCUMENTED}

KAFKA = ("kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp")
PLACE = ("country", "state", "city", "postal_code")
SCAN_TEXT = ("status_code", "status_description", "carrier_code", *PLACE)

WINDOW = ("window_start", "window_end")

EXACT = {
    "silver.ship_events": ("tracking_number", "occurred_at", "event_code", *SCAN_TEXT, "current_stop_id", *KAFKA),
    "silver.ship_routes": ("route_id", "tracking_number", "end_stop_id", "is_withdrawn", *KAFKA),
    "gold.remaining_stops": (
        "tracking_number",
        "occurred_at",
        "number_of_remaining_stops",
        "current_stop_id",
        "end_stop_id",
        "route_id",
        "event_code",
        *SCAN_TEXT,
        "event_kafka_partition",
        "event_kafka_offset",
        "event_kafka_timestamp",
        "route_kafka_partition",
        "route_kafka_offset",
        "route_kafka_timestamp",
    ),
    "gold.stop_activity": (*WINDOW, *PLACE, "scan_count", "delivered_count", "failed_count"),
    "gold.busiest_stops": (*WINDOW, "rank", *PLACE, "scan_count"),
    "gold.carrier_throughput": (*WINDOW, "carrier_code", "status_code", "scan_count"),
    "gold.failed_delivery_alerts": ("tracking_number", "occurred_at", "failure_count", "first_failed_at"),
}
EXACT["ops.expired_reports"] = EXACT["gold.remaining_stops"]
"""All the columns of a table, in order."""

AT_LEAST = {
    "bronze.ship_events": ("key", "value", "headers", *KAFKA, "ingested_at"),
    "bronze.ship_routes": ("key", "value", "headers", *KAFKA, "ingested_at"),
    "silver.quarantine": ("reason", "detail", "key", "value", "headers", *KAFKA),
    "ops.redriven_records": ("redriven_at", "reason", "detail", "new_reason", *KAFKA),
    "ops.quality": ("checked_at", "batch_id", "table_name", "expectation", "severity", "outcome", "observed", "page"),
    "ops.batches": ("batch_id", "started_at", "committed_at", "offsets", "counts", "tables"),
}
"""Columns that a table has in this order, others between them or not."""


def test_page_of_tables_is_current() -> None:
    """`python -m pipelines.tables.docs > docs/tables.md` makes it so."""
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == tables_page()


def test_page_tells_of_every_table_and_column_once() -> None:
    lines = tables_page().splitlines()
    for table in DOCUMENTED:
        assert lines.count(f"## {table.name}") == 1
        section = lines[lines.index(f"## {table.name}") :]
        rows = [line.split("|")[1].strip() for line in section[: _end_of(section)] if line.startswith("| `")]
        assert rows == [f"`{name}`" for name in (*table.column_names, *table.constraints)]


def test_page_names_the_module_of_each_record() -> None:
    for table in DOCUMENTED:
        path = f"pipelines/tables/{table.name.replace('.', '_')}.py"
        assert (ROOT / path).is_file()
        assert f"`{path}`" in tables_page()


@pytest.mark.parametrize("name", EXACT)
def test_table_has_exactly_the_columns_that_readers_rely_on_in_their_order(name: str) -> None:
    assert tuple(BY_NAME[name].column_names) == EXACT[name]


@pytest.mark.parametrize("name", AT_LEAST)
def test_table_has_the_columns_that_readers_rely_on_in_their_order(name: str) -> None:
    assert tuple(column for column in BY_NAME[name].column_names if column in AT_LEAST[name]) == AT_LEAST[name]


def test_tables_that_readers_rely_on_are_there() -> None:
    assert EXACT.keys() | AT_LEAST.keys() <= BY_NAME.keys()


def _end_of(section: list[str]) -> int:
    later = (number for number, line in enumerate(section) if number and line.startswith("## "))
    return next(later, len(section))
