"""All settings as a table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pipelines.terminal.page import Page

if TYPE_CHECKING:
    from pipelines.settings_variables import SettingLine


def settings_page(lines: Iterable["SettingLine"]) -> Page:
    """A line per setting; long values are folded."""
    drawn = Table(show_lines=True)
    for title in ("setting", "value", "from", "description"):
        drawn.add_column(title, overflow="fold")
    for line in lines:
        value = "" if line.value is None else str(line.value)
        drawn.add_row(*map(Text, (line.variable, value, line.source, line.description)))
    yield drawn
