"""Rows of the quarantine."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.errors import printable
from pipelines.terminal.page import Page, table


def quarantine_page(rows: Sequence[Mapping[str, Any]]) -> Page:
    """A line per row. What records say cannot steer the terminal."""
    headers = rows[0] if rows else ("The quarantine has no such record.",)
    cells = (tuple("" if value is None else printable(str(value)) for value in row.values()) for row in rows)
    yield table(*headers, rows=cells)
