"""A micro-batch as a line, and parts of a command while they last."""

import io
import json
import sys

import pytest
from rich.console import Console

from pipelines.progress import PartAdvanced, PartBegun, PartEnded, parse_batch
from pipelines.terminal.progress import PartsScreen, ProgressScreen, render_batch, show_line

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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_part_is_shown_while_it_lasts_and_stays_only_where_it_took_long() -> None:
    out = io.StringIO()
    screen = PartsScreen(Console(file=out, width=80, force_terminal=True, color_system=None, _environ={}))
    screen.begin(PartBegun("Appending records", 5_000))
    screen.advance(PartAdvanced(1_234))
    screen.end(PartEnded(0.5))
    screen.begin(PartBegun("Comparing [gold]"))
    screen.begin(PartBegun("Reading"))
    screen.end(PartEnded(0.5))
    screen.end(PartEnded(3.21))
    shown = out.getvalue()
    assert "1234/5000" in shown
    assert "Comparing [gold]: 3.2 s\n" in shown
    assert "Appending records: " not in shown
    assert "Reading: " not in shown


@pytest.mark.parametrize(
    ("arguments", "streams", "is_shown"),
    [
        (["verify"], (Terminal, Terminal), True),
        (["verify", "--json"], (Terminal, Terminal), False),
        (["verify"], (io.StringIO, Terminal), False),
        (["verify"], (Terminal, io.StringIO), False),
    ],
)
def test_parts_are_shown_on_a_terminal_alone_and_never_beside_json(
    arguments: list[str],
    streams: tuple[type[io.StringIO], type[io.StringIO]],
    is_shown: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = (each() for each in streams)
    monkeypatch.setattr(sys, "argv", ["pts", *arguments])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    screen = ProgressScreen()
    screen(PartBegun("Checking"))
    screen(PartAdvanced(1))
    screen(PartEnded(9.0))
    assert ("Checking: 9.0 s" in err.getvalue()) is is_shown
    assert is_shown or err.getvalue() == ""
    assert out.getvalue() == ""
