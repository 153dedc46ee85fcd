"""An Arrow table as people and programs read it: a drawn table, CSV, or a JSON array of objects.

Values are as `pipelines/values.py` says. A null is an empty field in CSV and `null` in JSON; lists and structs are JSON
inside CSV and drawn tables.
"""

import csv
from collections.abc import Iterator
from typing import Any, Literal, TextIO

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.terminal.page import printable_lines
from pipelines.values import as_json, cell_text, json_text, values_of

Form = Literal["table", "csv", "json"]

ROWS_AT_ONCE = 10_000
UNLIMITED_WIDTH = 100_000


def write_table(table: pa.Table, out: TextIO, form: Form = "table") -> None:
    """Writes all rows; CSV and JSON as they come, so that a large result needs little memory.

    Nothing is written to a terminal that it would obey. In a file or a pipe, CSV has the values as they are.
    """
    if form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        shown = printable_lines if out.isatty() else str
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


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples, so that two columns may have one name."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from zip(*map(values_of, batch.columns), strict=True)


def _draw(table: pa.Table, out: TextIO) -> None:
    """On a terminal in its width, long values folded; elsewhere as wide as the rows are."""
    console = Console(file=out, width=None if out.isatty() else UNLIMITED_WIDTH, highlight=False)
    drawn = Table()
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        drawn.add_column(Text(printable_lines(name)), justify="right" if is_number else "left", overflow="fold")
    for row in _rows(table):
        drawn.add_row(*(_cell(value) for value in row))
    console.print(drawn)
    console.print(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}")


def _cell(value: Any) -> Text:
    return Text(printable_lines(cell_text(value)))
