"""The pipeline as data: every flow ends in its table, whatever it is given."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.graph import FLOWS, Around, Comparable, Current, Flow, Judged, Log, New, NotAccepted, Read, StartedAt
from pipelines.tables import SILVER_SHIP_ROUTES, TABLES
from pipelines.transforms.judge import judged
from tests.frames import record_frame, table_frame


def empty(spark: SparkSession, read: Read) -> DataFrame | datetime:
    """What a flow reads when there is nothing."""
    match read:
        case Log():
            return record_frame(spark, [])
        case Judged(topic) | NotAccepted(topic):
            return judged(record_frame(spark, []), topic, "csv")
        case StartedAt():
            return datetime(2026, 3, 1, tzinfo=UTC)
        case New(table) | Comparable(table) | Current(table) | Around(New(table)):
            return table_frame(spark, table)


def shape(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_flow_over_empty_frames_has_the_columns_of_its_table(spark: SparkSession, flow: Flow) -> None:
    rows = flow.by(*(empty(spark, read) for read in flow.reads))
    assert shape(rows) == shape(table_frame(spark, flow.into))
    assert rows.count() == 0


@pytest.mark.parametrize("flow", [flow for flow in FLOWS if flow.publishes], ids=lambda flow: flow.name)
def test_published_messages_have_a_key_and_a_value(spark: SparkSession, flow: Flow) -> None:
    publication: Any = flow.publishes
    assert shape(publication.by(table_frame(spark, flow.into))) == [("key", "string"), ("value", "string")]


def test_every_table_that_follows_the_log_has_a_flow() -> None:
    archives = {flow.archive.name for flow in FLOWS if flow.archive}
    assert {flow.into.name for flow in FLOWS} | archives == {table.name for table in TABLES if table.follows_log}


def test_flow_names_are_distinct() -> None:
    assert len({flow.name for flow in FLOWS}) == len(FLOWS)


def test_a_flow_reads_only_what_flows_above_it_have_written() -> None:
    written: set[str] = set()
    for flow in FLOWS:
        for read in flow.reads:
            if isinstance(read, New):
                assert read.table.name in written
            if isinstance(read, NotAccepted):
                assert written >= {read.bronze.name, read.silver.name}
        written.add(flow.into.name)


def test_a_table_is_written_in_one_turn_and_in_that_of_the_tables_it_follows() -> None:
    turns: dict[str, str | None] = {}
    for flow in FLOWS:
        followed = [read.table for read in flow.reads if isinstance(read, Current)]
        followed += [read.bronze for read in flow.reads if isinstance(read, NotAccepted)]
        for table in (flow.into, *followed):
            assert turns.setdefault(table.name, flow.turn) == flow.turn, flow.name


def test_what_the_ledger_counts_moves_with_every_batch() -> None:
    assert {flow.name for flow in FLOWS if isinstance(flow.reads[0], Judged)} == {"accept_events", "accept_routes"}
    assert not any(flow.turn for flow in FLOWS if isinstance(flow.reads[0], Judged))


def test_fold_that_follows_has_a_time_by_which_its_rows_are_made_anew() -> None:
    reports = next(flow for flow in FLOWS if flow.name == "remaining_stops")
    with pytest.raises(ValueError, match=r"silver.ship_routes has no window_start or occurred_at"):
        replace(reports, into=SILVER_SHIP_ROUTES, turn="routes")


def test_measures_are_added_where_there_are_some() -> None:
    assert {flow.into.name for flow in FLOWS if flow.write == "add"} == {
        table.name for table in TABLES if table.measures
    }


def test_flow_waits_for_those_above_it_that_write_its_table_or_what_it_reads() -> None:
    waits_for = {
        flow.name: {other.name for other in FLOWS[:number] if flow.needs(other)} for number, flow in enumerate(FLOWS)
    }
    accepts = {"accept_events", "accept_routes"}
    assert waits_for == {
        "accept_events": set(),
        "accept_routes": set(),
        "remaining_stops": accepts,
        "archive_events": set(),
        "archive_routes": set(),
        "quarantine_events": {"accept_events", "archive_events"},
        "quarantine_routes": {"accept_routes", "archive_routes", "quarantine_events"},
        "stop_activity": {"accept_events"},
        "busiest_stops": {"accept_events", "stop_activity"},
        "carrier_throughput": {"accept_events"},
        "failed_delivery_alerts": {"accept_events"},
    }
