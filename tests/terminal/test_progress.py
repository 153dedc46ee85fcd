"""A micro-batch as a line."""

import io
import json

from rich.console import Console

from pipelines.progress import parse_batch
from pipelines.terminal.progress import render_batch, show_line

BATCH = {
    "batch_id": 3,
    "records": 20_000,
    "records_per_second": 8000.4,
    "lag_records": 0,
    "lag_seconds": 0.4,
    "quarantined": 12,
}


def test_batch_shows_its_numbers_and_leaves_out_what_is_missing() -> None:
    text = render_batch(BATCH).plain

    assert all(part in text for part in ("batch     3", "20,000 records", "8,000/s", "(0.4 s)", "quarantined     12"))
    assert "duplicates" not in text


def test_line_that_is_no_batch_is_not_taken_for_one() -> None:
    assert [parse_batch(line) for line in ("WARN x", "7", "[]", "{}", '{"batch_id"')] == [None] * 5


def test_outside_a_terminal_the_line_stays_json() -> None:
    out = io.StringIO()
    line = json.dumps(BATCH | {"note": "[x]" * 200})
    show_line(line, Console(file=out, width=80))

    assert out.getvalue() == line + "\n"


def test_line_of_a_log_cannot_steer_the_terminal() -> None:
    out = io.StringIO()
    show_line("WARN \x1b[2J of a record\x9b", Console(file=out, width=80))

    assert out.getvalue() == "WARN \ufffd[2J of a record\ufffd\n"
