"""What commands found, as people read it."""

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from expectations.result import Checked, Result
from pipelines.checks.health import Reading
from pipelines.checks.judge import JudgedMessage
from pipelines.io.delta.files import Extent, State
from pipelines.maintenance.backfill import Backfilled
from pipelines.maintenance.compacted import Compacted, TableCompacted
from pipelines.maintenance.expire import Expired
from pipelines.progress import ReplayBegun, ReplayedBatch, ReplayEnded
from pipelines.replay.redrive import Redriven
from pipelines.state.replay_records import Promoted
from pipelines.terminal.checks import checked_page, judged_line, readings_page
from pipelines.terminal.maintenance import backfilled_page, compacted_page, expired_page
from pipelines.terminal.page import Page, show
from pipelines.terminal.progress import ProgressScreen
from pipelines.terminal.quarantine import quarantine_page
from pipelines.terminal.replay import promoted_page, redriven_page

WHEN = datetime(2026, 1, 1, 10, tzinfo=UTC)
PROMOTED = Promoted("fix", 7, {}, 1.5)


def drawn(page: Page) -> str:
    out = io.StringIO()
    show(page, Console(file=out, width=160))
    return out.getvalue()


def test_text_of_a_page_is_one_line_however_long_and_no_markup() -> None:
    text = "[red]:warning: " + "long " * 100
    assert drawn([text]) == f"{text}\n"


def test_compaction_says_what_became_of_the_files_and_what_was_left() -> None:
    before = State(3, Extent(5, 3 << 20), 5, Extent(6, 4 << 20))
    after = State(4, Extent(1, 3 << 20), 0, Extent(2, 4 << 20))
    tables = (TableCompacted("gold.x", before, after, True, Extent(0, 0), True, "it is in use"),)
    shown = drawn(compacted_page(Compacted(False, 2.0, 0.5, 168, ("fix",), tables)))
    assert all(part in shown for part in ("5 → 1", "3.0", "6 → 2", "new", "gold.x was left: it is in use."))
    assert shown.endswith("Done in 2.0 s; no batch ran for 0.5 s. Files younger than 168 h stay.\n")


@pytest.mark.parametrize(("dry_run", "verb"), [(True, "would remove"), (False, "removed")])
def test_expiry_says_what_went_or_would(dry_run: bool, verb: str) -> None:
    found = [Expired("gold.x", "windows", WHEN, 1_200)]
    assert drawn(expired_page(found, dry_run=dry_run)) == (
        f"gold.x {verb} 1,200 windows before 2026-01-01 10:00:00 UTC\n"
    )


def test_backfill_counts_rows() -> None:
    assert "1,000" in drawn(backfilled_page([Backfilled("gold.x", 1_000, 2, 3)]))


def test_redrive_says_what_is_accepted_now_and_what_became_of_the_tables() -> None:
    found = Redriven({"ship-events": 1_000}, {"ship-events": 900}, {"malformed": 100}, PROMOTED)
    assert drawn(redriven_page(found)).splitlines() == [
        "ship-events: 1,000 records judged again, 900 accepted",
        "100 are rejected as malformed now",
        *promoted_page(PROMOTED),
    ]
    assert drawn(redriven_page(Redriven({}, {}, {}))) == "No table was changed.\n"


def test_check_draws_each_expectation_and_tells_warnings() -> None:
    results = (
        Result("gold.x", "one_row_per_key", "critical", "met", 0, 0, 0, "look"),
        Result("gold.x", "volume", "warning", "failed", 9.5, 1, 2, "look"),
    )
    shown = drawn(checked_page(Checked(WHEN, 7, results, "/page")))
    assert all(part in shown for part in ("one_row_per_key", "critical", "9.5", "1 to 2"))
    assert "Warning: gold.x volume is 9.5, expected 1 to 2: look.\nAt batch 7: warned. /page\n" in shown


def test_reading_beyond_its_limit_is_marked() -> None:
    shown = drawn(
        readings_page([Reading("lag_records", 5, 3, "look"), Reading("file_count", None, 3, "look", "gold.x")])
    )
    assert shown.count("beyond its limit") == 2
    assert "file_count (gold.x)" in shown
    assert "unknown" in shown


def test_judged_message_is_a_line() -> None:
    assert judged_line(JudgedMessage(1_000, "malformed", "no comma")) == "1,000  malformed  no comma"
    assert judged_line(JudgedMessage(1, "accepted", None)) == "1  accepted"


def test_row_of_the_quarantine_cannot_steer_the_terminal() -> None:
    shown = drawn(quarantine_page([{"reason": "malformed", "key": None, "value": "\x1b[2J"}]))
    assert "\x1b[2J" not in shown
    assert "\N{REPLACEMENT CHARACTER}[2J" in shown
    assert "no such record" in drawn(quarantine_page([]))


def test_replay_tells_each_batch_on_standard_error_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    screen, done = ProgressScreen(), ReplayedBatch(3, 50, 0.5, 60, 40, 20.0)
    for step in (ReplayBegun(100, 10), done, ReplayEnded()):
        screen(step)
    told = capsys.readouterr()
    assert (told.out, json.loads(told.err)) == ("", done.as_json())
