"""The times of the board's pages."""

from pathlib import Path

import pytest

from lab.benchmarks import board
from lab.benchmarks.driving import RunFailed
from lab.benchmarks.options import Options
from lab.benchmarks.results import new_results
from lab.benchmarks.tables import board_table
from pipelines.board import app
from pipelines.settings import Settings
from tests.board.makers import healthy


def test_each_page_has_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "FIRST_PACKAGE", 42)
    monkeypatch.setattr(board, "WARM_UPS", 0)
    monkeypatch.setattr(board, "LOOKS", 2)  # there are no more
    monkeypatch.setattr(board, "_milliseconds", lambda client, path: float(client.get(path).status_code))
    found = board.page_times(healthy(tmp_path))
    assert app.PAGES.keys() <= set(board.PAGES.values())
    assert {name: times["p95_milliseconds"] for name, times in found.items()} == dict.fromkeys(board.PAGES, 200.0)


def test_page_that_is_not_there_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="/ was answered with 404"):
        board.page_times(Settings(home=tmp_path))


def test_table_has_a_row_for_each_page() -> None:
    found = new_results(Options())
    times = {"p50_milliseconds": 80.4, "p95_milliseconds": 120.0}
    found.runs = [
        {"part": "board", "contender": "ours", "round": 1, "packages": 5_000, "scans": 9_000, "pages": {"now": times}}
    ]
    assert board_table(found).splitlines()[-1] == "| 5,000 | 9,000 | now | 80 / 120 |"
    assert board_table(new_results(Options())) == ""
