"""A comparison as people see it: a page and a table on the terminal."""

from datetime import UTC, datetime
from io import StringIO

from rich.console import Console

from pipelines.replay.compared import Compared, Sample, TableCompared
from pipelines.replay.page import page
from pipelines.terminal.page import show
from pipelines.terminal.replay import compared_page

SAMPLE = Sample("changed", {"tracking_number": 42}, {"city": "<b>Köln</b>"}, {"city": None})
DIFFERING = TableCompared(
    table="gold.remaining_stops",
    live_version=7,
    shadow_version=3,
    live_rows=12_345,
    shadow_rows=12_346,
    live_checksum="aaaa",
    shadow_checksum="bbbb",
    missing=1,
    extra=0,
    changed=2_000,
    columns={"city": 2_000},
    undeclared=1,
    samples=(SAMPLE,),
)
EQUAL = TableCompared("silver.ship_routes", 1, 1, 5, 5, "cccc", "cccc", 0, 0, 0, {}, 0, ())


def compared(*tables: TableCompared) -> Compared:
    return Compared("fix", 9, datetime(2026, 3, 1, tzinfo=UTC), ("gold.remaining_stops.city",), tables, "compare.html")


def test_page_shows_counts_columns_and_samples_and_needs_nothing_from_elsewhere() -> None:
    shown = page(compared(DIFFERING, EQUAL))
    for text in ("12,345", "2,000", "2,001 rows differ, 1 of them were not declared", "tracking_number = 42", "cccc"):
        assert text in shown
    assert "city = &lt;b&gt;Köln&lt;/b&gt;" in shown
    assert "city = null" in shown
    assert not any(text in shown for text in ("<b>", "http", "src=", "<script", "<link"))


def test_page_of_equal_tables_says_identical_and_has_no_samples() -> None:
    shown = page(compared(EQUAL))
    assert "identical" in shown
    assert "<h2>" not in shown


def test_terminal_has_a_line_for_each_table_and_each_column_that_differs() -> None:
    drawn = StringIO()
    show(compared_page(compared(DIFFERING, EQUAL)), Console(width=200, file=drawn))
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in drawn.getvalue().splitlines()]
    assert ["gold.remaining_stops", "12,345", "12,346", "1", "0", "2,000", "1", "differs"] in lines
    assert ["city", "", "", "", "", "2,000", "", ""] in lines
    assert ["silver.ship_routes", "5", "5", "0", "0", "0", "0", "cccc"] in lines


def test_verdict_of_differences_that_are_all_declared() -> None:
    table = TableCompared("gold.x", 1, 1, 5, 5, "a", "b", 0, 0, 3, {"city": 3}, 0, ())
    assert compared(table).verdict == "3 rows differ, all of them as declared"
