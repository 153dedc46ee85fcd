"""What a shell is told when somebody presses Tab, asked as the scripts of Typer ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.state.replay_folders import RECORD_FILE
from pipelines.state.replay_records import Replays
from tests.calling import Pts


def completed(pts: Pts, line: str, home: Path, **settings: str) -> list[str]:
    """What bash is offered after `pts`, at the end of a line."""
    words = ["pts", *line.split(" ")]
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_PTS_COMPLETE": "complete_bash"}
    found = pts(home=home, **asked, **settings)
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sim", ["simulate"]),
        ("replay ver", ["verify"]),
        ("replay plan --", ["--at-batch", "--json", "--help"]),  # and no former name
        ("sql --engine ", ["duckdb", "spark"]),
        ("judge ", ["ship-events", "ship-routes"]),
        ("quarantine redrive --reason m", ["malformed", "missing_field"]),
        ("rebuild gold.stop_activity gold.b", ["gold.busiest_stops"]),
        ("check --table silver.ship_r", ["silver.ship_routes"]),
        ("check --table bronze", []),
        ("backfill --table gold.remaining", []),
        ("backfill --table gold.stop", ["gold.stop_activity"]),
        ("replay compare fix --expect ops.b", ["ops.batches"]),
        ("up stream a", ["api", "airflow"]),
    ],
)
def test_tab_completes_commands_options_values_and_tables(
    pts: Pts, line: str, offered: list[str], tmp_path: Path
) -> None:
    assert completed(pts, line, tmp_path) == offered


def test_tab_completes_the_replays_of_the_lake(pts: Pts, tmp_path: Path) -> None:
    for name in ("fix-stops", "fix-carriers", "other"):
        folder = Path(Replays(f"{tmp_path}/lake").root(name))
        folder.mkdir(parents=True)
        (folder / RECORD_FILE).touch()
    assert completed(pts, "replay promote fix", tmp_path) == ["fix-carriers", "fix-stops"]
    assert completed(pts, "replay promote ", tmp_path, PTS_LAKE=str(tmp_path / "other")) == []


@pytest.mark.parametrize("line", ["replay drop ", "up "])
def test_tab_says_nothing_where_settings_do_not_fit(pts: Pts, line: str, tmp_path: Path) -> None:
    assert completed(pts, line, tmp_path, PTS_BROKER__PORT="many") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered_too(pts: Pts, shell: str, tmp_path: Path) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "pts sta", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert "status" in pts(home=tmp_path, _PTS_COMPLETE=f"complete_{shell}", **asked).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_for_each_shell_asks_pts(pts: Pts, shell: str, tmp_path: Path) -> None:
    assert f"complete_{shell}" in pts(home=tmp_path, _PTS_COMPLETE=f"source_{shell}").stdout


@pytest.mark.parametrize(
    ("line", "needs_settings"), [("replay drop ", True), ("sim", False), ("replay plan --", False)]
)
def test_completion_imports_no_engine_and_no_client_and_settings_where_it_needs_them(
    line: str, needs_settings: bool, tmp_path: Path
) -> None:
    """They are half of the time that somebody waits who has pressed Tab."""
    words = f"pts {line}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_PTS_COMPLETE": "complete_bash"}
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipelines.cli"],
        env=os.environ | {"PTS_HOME": str(tmp_path)} | asked,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in found.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"pyspark", "pyarrow", "duckdb", "deltalake", "confluent_kafka", "supervisor"}
    assert ("pydantic_settings" in imported) == needs_settings
