"""One micro-batch as a line: how the job's progress looks wherever it is shown."""

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from pipelines.errors import printable


def render_batch(line: Mapping[str, Any]) -> Text:
    """A batch's log line for a terminal; a key that is missing is left out."""
    text = Text()
    if "batch_id" in line:
        text.append(f"batch {line['batch_id']:>5}  ", style="bold")
    for key, form in PARTS.items():
        if line.get(key) is not None:
            text.append(form.format(line[key]), style=_style(key, line[key]))
    return text


def parse_batch(line: str) -> dict[str, Any] | None:
    """The batch that a line of the stream's log tells of; None for any other line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "batch_id" in found else None


def show_line(line: str, console: Console) -> None:
    """A line of the stream's log: on a terminal a batch as text; anything else, and everywhere else, as it is."""
    batch = parse_batch(line) if console.is_terminal else None
    console.print(render_batch(batch) if batch else Text(printable(line.expandtabs())), soft_wrap=True)


PARTS = {
    "records": "{:>9,} records  ",
    "records_per_second": "{:>8,.0f}/s  ",
    "lag_records": "lag {:>9,}",
    "lag_seconds": " ({:,.1f} s)",
    "quarantined": "  quarantined {:>6,}",
    "duplicates": "  duplicates {:>6,}",
    "duration_seconds": "  in {:.1f} s",
}

STALE_SECONDS = 60


def _style(key: str, value: float) -> str:
    if key == "quarantined" and value:
        return "yellow"
    return "red" if key == "lag_seconds" and value > STALE_SECONDS else ""
