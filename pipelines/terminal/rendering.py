"""An Arrow table as people and programs read it: a drawn table, CSV, or a JSON array of objects.

Timestamps are ISO 8601 with microseconds: in UTC with a Z, and without one where they have no time zone. A null is an
empty field in CSV and `null` in JSON. Bytes are their UTF-8 text, with `\\xNN` where they are none (SQL's `hex()` gives
them unambiguously). Lists and structs are JSON inside CSV and drawn tables.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, TextIO

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.contracts.rules import Status
from pipelines.errors import printable

Form = Literal["table", "csv", "json"]

ROWS_AT_ONCE = 10_000
UNLIMITED_WIDTH = 100_000

UNPRINTABLE = re.compile(r"[^\n -~]")
"""What may be a character that a terminal obeys."""


def write_table(table: pa.Table, out: TextIO, form: Form = "table") -> None:
    """Writes all rows; CSV and JSON as they come, so that a large result needs little memory.

    Nothing is written to a terminal that it would obey. In a file or a pipe, CSV has the values as they are.
    """
    if form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        shown = _lines if out.isatty() else str
        writer.writerow(map(shown, table.column_names))
        writer.writerows([shown(cell_text(value)) for value in row] for row in _rows(table))
    elif form == "json":
        out.write("[")
        for number, row in enumerate(_rows(table)):
            record = {name: as_json(value) for name, value in zip(table.column_names, row, strict=True)}
            out.write((",\n" if number else "\n") + json_text(record))
        out.write("\n]\n" if table.num_rows else "]\n")
    else:
        _draw(table, out)


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON in which letters stay as they are, and what a terminal would obey is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return UNPRINTABLE.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def as_json(value: Any) -> Any:
    """A value as JSON can carry it. A number that JSON lacks (NaN, infinity) becomes its name."""
    match value:
        case datetime():
            return iso_utc(value) if value.tzinfo else value.isoformat(timespec="microseconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case _:
            return value


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as plain Python; a time beyond the years 1 to 9999, which Python lacks, is its ISO 8601 text."""
    names, columns = table.column_names, map(_values, table.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]
    return found


def _value(scalar: pa.Scalar) -> Any:
    match scalar:
        case pa.ListScalar() if scalar.is_valid:
            return [_value(each) for each in scalar.values]
        case pa.StructScalar() if scalar.is_valid:
            return {name: _value(each) for name, each in scalar.items()}
        case pa.TimestampScalar() if scalar.is_valid:
            with suppress(OverflowError, ValueError):
                return scalar.as_py()
            far = np.datetime64(scalar.value, scalar.type.unit).astype("datetime64[us]")
            return f"{far}{'Z' if scalar.type.tz else ''}"
        case _:
            return scalar.as_py()


def iso_utc(moment: datetime | str) -> str:
    """`2026-01-01T00:00:00.000000Z`, of a moment with a time zone; one that is text already stays as it is."""
    if isinstance(moment, str):
        return moment
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def cell_text(value: Any) -> str:
    """A value as text; a null is empty."""
    plain = as_json(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def status_text(code: str | None) -> str:
    """A scan's status code in words."""
    known = {status.value: status.name.lower().replace("_", " ") for status in Status}
    return "status unknown" if code is None else known.get(code) or printable(f"status {code}")


def page_table(title: str, headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """A table of a page for the terminal: a title over it, lines only below the headers."""
    table = Table(*headers, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(Text(_lines(text)) for text in row))
    return table


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples, so that two columns may have one name."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from zip(*map(_values, batch.columns), strict=True)


def _draw(table: pa.Table, out: TextIO) -> None:
    """On a terminal in its width, long values folded; elsewhere as wide as the rows are."""
    console = Console(file=out, width=None if out.isatty() else UNLIMITED_WIDTH, highlight=False)
    drawn = Table()
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        drawn.add_column(Text(_lines(name)), justify="right" if is_number else "left", overflow="fold")
    for row in _rows(table):
        drawn.add_row(*(_cell(value) for value in row))
    console.print(drawn)
    console.print(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}")


def _cell(value: Any) -> Text:
    return Text(_lines(cell_text(value)))


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
