"""A command's answer as a page for a person: lines of text and tables, one below the other."""

import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines.errors import printable

Page = Iterable[RenderableType]
"""Parts from top to bottom. Text is a line that is never broken; nothing in it is markup."""

LOG_LINE_WIDTH = 200


def console() -> Console:
    """A console as wide as the terminal; elsewhere as wide as a log line may be."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else LOG_LINE_WIDTH)


def show(page: Page, on: Console | None = None) -> None:
    """Prints the page on standard output, or on another console."""
    on = on or console()
    for part in page:
        if isinstance(part, str):
            on.print(Text(part), soft_wrap=True)
        else:
            on.print(part)


def table(*headers: str, rows: Iterable[tuple[str, ...]], numbers: frozenset[str] | set[str] = frozenset()) -> Table:
    """A table with lines around it; columns named in `numbers` stand to the right."""
    drawn = Table()
    for header in headers:
        drawn.add_column(header, justify="right" if header in numbers else "left")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn


def section(title: str, headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """A table with a title over it, and lines only below the headers. What records say cannot steer the terminal."""
    drawn = Table(*headers, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        drawn.add_row(*(Text(printable_lines(text)) for text in row))
    return drawn


def printable_lines(text: str) -> str:
    """The text with its line breaks, and a replacement for whatever else a terminal would obey."""
    return "\n".join(map(printable, text.split("\n")))
