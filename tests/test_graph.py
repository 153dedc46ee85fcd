"""The pipeline as data: every flow ends in its table, whatever it is given."""

from dataclasses import replace

import pytest

from pipelines.graph import ACCEPTED, FLOWS, Current, Flow, Judged, New, tables_read
from pipelines.io.delta.data_files import TYPES, empty_rows
from pipelines.tables import SILVER_SHIP_ROUTES, TABLES
from tests.rows import answer

ANYTHING = {column.name: TYPES[column.type] for table in TABLES for column in table.columns if column.type in TYPES}


def empty(flow: Flow) -> dict[str, str]:
    """What a flow reads when there is nothing: queries by name."""
    columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in ANYTHING.items())
    return {
        name: f"SELECT {columns} WHERE false" if isinstance(read, Judged) else empty_rows(tables_read(read)[0])
        for name, read in flow.reads.items()
    }


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_flow_over_empty_tables_has_the_columns_of_its_table_and_no_rows(flow: Flow) -> None:
    given = {name: answer(query) for name, query in empty(flow).items()}
    rows = answer(flow.by, **given)
    assert set(rows.column_names) == set(flow.into.column_names)
    assert rows.num_rows == 0


@pytest.mark.parametrize("flow", [flow for flow in FLOWS if flow.publishes], ids=lambda flow: flow.name)
def test_published_messages_have_a_key_and_a_value(flow: Flow) -> None:
    assert flow.publishes is not None
    assert answer(flow.publishes.by, reports=answer(empty_rows(flow.into))).column_names == ["key", "value"]


def test_every_table_that_follows_the_log_has_a_flow() -> None:
    archives = {flow.archive.name for flow in FLOWS if flow.archive}
    assert {flow.into.name for flow in FLOWS} | archives == {table.name for table in TABLES if table.follows_log}


def test_flow_names_are_distinct() -> None:
    assert len({flow.name for flow in FLOWS}) == len(FLOWS)


def test_a_flow_reads_only_what_flows_above_it_have_written() -> None:
    written: set[str] = set()
    for flow in FLOWS:
        for read in flow.reads.values():
            if isinstance(read, New):
                assert read.table.name in written
        written.add(flow.into.name)


def test_a_table_is_written_in_one_group_and_in_that_of_the_tables_it_is_made_from() -> None:
    groups: dict[str, str | None] = {}
    for flow in FLOWS:
        followed = [read.table for read in flow.reads.values() if isinstance(read, Current)]
        for table in (flow.into, *followed):
            assert groups.setdefault(table.name, flow.catch_up_group) == flow.catch_up_group, flow.name


def test_what_reads_records_moves_with_every_batch() -> None:
    assert not any(flow.catch_up_group for flow in FLOWS if flow.topic)
    assert {flow.name for flow in FLOWS if flow.topic and flow.into in ACCEPTED} == {"accept_events", "accept_routes"}


def test_fold_that_catches_up_has_a_time_by_which_its_rows_are_made_again() -> None:
    reports = next(flow for flow in FLOWS if flow.name == "remaining_stops")
    with pytest.raises(ValueError, match=r"silver.ship_routes names no row_time"):
        replace(reports, into=SILVER_SHIP_ROUTES, catch_up_group="routes")


def test_measures_are_added_where_there_are_some() -> None:
    assert {flow.into.name for flow in FLOWS if flow.write == "add"} == {
        table.name for table in TABLES if table.measures
    }


def test_flow_waits_for_those_above_it_that_write_its_table_or_what_it_reads() -> None:
    waits_for = {
        flow.name: {other.name for other in FLOWS[:number] if flow.needs(other)} for number, flow in enumerate(FLOWS)
    }
    accepts = {"accept_events", "accept_routes"}
    assert (
        waits_for.items()
        >= {
            "accept_events": set(),
            "accept_routes": set(),
            "remaining_stops": accepts,
            "keep_events": set(),
            "keep_routes": set(),
            "reject_events": set(),
            "reject_routes": {"reject_events"},
            "stop_activity": {"accept_events"},
            "busiest_stops": {"accept_events", "stop_activity"},
            "carrier_throughput": {"accept_events"},
            "failed_delivery_alerts": {"accept_events"},
        }.items()
    )
