"""A table in its three forms."""

import io
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pipelines.errors import without_colours
from pipelines.terminal.rows import Form, write_table
from pipelines.values import as_json


def written(table: pa.Table, form: Form) -> str:
    out = io.StringIO()
    write_table(table, out, form)
    return out.getvalue()


SCANS = pa.table(
    {
        "tracking_number": pa.array([42, 43], pa.int64()),
        "occurred_at": pa.array([datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "city": ["Köln, Süd", None],
    }
)


def test_csv_has_a_header_and_empty_fields_for_nulls() -> None:
    assert written(SCANS, "csv") == (
        'tracking_number,occurred_at,city\n42,2026-01-01T12:00:00.000005Z,"Köln, Süd"\n43,,\n'
    )


def test_json_is_an_array_of_objects_with_nulls() -> None:
    assert json.loads(written(SCANS, "json")) == [
        {"tracking_number": 42, "occurred_at": "2026-01-01T12:00:00.000005Z", "city": "Köln, Süd"},
        {"tracking_number": 43, "occurred_at": None, "city": None},
    ]


@pytest.mark.parametrize(("form", "expected"), [("json", "[]\n"), ("csv", "tracking_number,occurred_at,city\n")])
def test_no_rows_are_still_well_formed(form: Form, expected: str) -> None:
    assert written(SCANS.slice(0, 0), form) == expected


def test_drawn_table_outside_a_terminal_is_as_wide_as_its_longest_value() -> None:
    assert "x" * 500 in written(pa.table({"note": ["x" * 500]}), "table")


def test_drawn_table_shows_square_brackets_as_they_are() -> None:
    assert "[red]no markup[/red]" in written(pa.table({"[bold]": ["[red]no markup[/red]"]}), "table")


def test_text_of_a_record_cannot_steer_the_terminal_and_keeps_its_lines() -> None:
    drawn = written(pa.table({"note": ["\x1b[2Jone\ntwo"]}), "table")

    assert "\x1b" not in drawn
    assert [line.strip("│ ") for line in drawn.splitlines() if line.startswith("│")][-1] == "two"


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_text_of_a_record_and_names_of_columns_cannot_steer_the_terminal_in_any_form(form: Form) -> None:
    out = Terminal()
    write_table(pa.table({"a\x1b]0;note\x07": ["\x1b[2Jone\x9b2J\u202e", "Zoë"]}), out, form)

    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(without_colours(out.getvalue())), "colours are our own"
    assert "Zoë" in out.getvalue()


def test_text_of_a_record_stays_as_it_is_in_a_pipe() -> None:
    table = pa.table({"note": ["\x1b[2Jone\x9b"]})
    assert written(table, "csv") == "note\n\x1b[2Jone\x9b\n"
    assert json.loads(written(table, "json")) == [{"note": "\x1b[2Jone\x9b"}]


def test_two_columns_of_one_name_keep_both_values_in_csv() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])

    assert written(table, "csv") == "n,n\n1,2\n"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T00:00:00.000000Z"),
        (datetime(2026, 1, 1), "2026-01-01T00:00:00.000000"),  # noqa: DTZ001 - as DuckDB's TIMESTAMP arrives
        (date(2026, 1, 2), "2026-01-02"),
        (Decimal(12), 12),
        (Decimal("1.5"), 1.5),
        (b"42", "42"),
        (b"\xff,", "\\xff,"),
        (float("nan"), "nan"),
        ([{"key": b"k", "value": None}], [{"key": "k", "value": None}]),
    ],
)
def test_value_becomes_what_json_can_carry(value: Any, plain: Any) -> None:
    assert as_json(value) == plain
