"""Each gap of a batch is told by what a job left in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.faults.gaps import BETWEEN_BATCHES, CHECKPOINT, FILES, LEDGER, NOT_BEGUN, PLANNED, TABLES, Gaps

SCANS, REPORTS = "accept_events", "remaining_stops"
A_TURN = "stop_activity"


def plan(lake: Path, number: int, *, committed: bool = False) -> None:
    for log in ("offsets", "commits") if committed else ("offsets",):
        (lake / CHECKPOINT / log).mkdir(parents=True, exist_ok=True)
        (lake / CHECKPOINT / log / str(number)).touch()
    (lake / CHECKPOINT / "metadata").write_text(json.dumps({"id": "job"}))


def write(lake: Path, table: str, flow: str, number: int, *, commit: bool = True) -> None:
    folder = lake / table
    (folder / "_delta_log").mkdir(parents=True, exist_ok=True)
    (folder / f"part {number}.parquet").touch()
    actions: list[dict[str, Any]] = [
        {"txn": {"appId": f"job/{flow}", "version": number}},
        {"add": {"path": f"part%20{number}.parquet"}},
    ]
    if commit:
        (folder / "_delta_log" / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """After one whole batch."""
    plan(tmp_path, 0, committed=True)
    write(tmp_path, "silver/ship_events", SCANS, 0)
    write(tmp_path, "ops/batches", "ledger", 0)
    return tmp_path


def test_job_that_planned_nothing_had_not_begun(tmp_path: Path) -> None:
    assert Gaps(str(tmp_path)).of_kill() == NOT_BEGUN


def test_each_gap_of_a_batch_is_told_in_its_order(lake: Path) -> None:
    gaps = Gaps(str(lake))
    assert gaps.of_kill() == BETWEEN_BATCHES
    plan(lake, 1)
    assert gaps.of_kill() == PLANNED
    write(lake, "silver/ship_events", SCANS, 1, commit=False)
    assert gaps.of_kill() == FILES
    write(lake, "silver/ship_events", SCANS, 1)
    assert gaps.of_kill() == TABLES[0]
    write(lake, "gold/remaining_stops", REPORTS, 1)
    assert gaps.of_kill() == TABLES[1]
    write(lake, "ops/batches", "ledger", 1)
    assert gaps.of_kill() == LEDGER
    plan(lake, 1, committed=True)
    assert gaps.of_kill() == BETWEEN_BATCHES


def test_file_that_an_earlier_kill_left_is_not_told_again(lake: Path) -> None:
    gaps = Gaps(str(lake))
    write(lake, "silver/ship_events", SCANS, 1, commit=False)
    assert [gaps.of_kill() for _ in range(2)] == [FILES, BETWEEN_BATCHES]


def test_write_of_a_catch_up_table_is_not_of_the_batch_that_has_its_number(lake: Path) -> None:
    write(lake, "gold/stop_activity", A_TURN, 1)
    plan(lake, 1)
    assert Gaps(str(lake)).of_kill() == PLANNED


def test_write_of_another_checkpoint_is_not_of_the_batch(lake: Path) -> None:
    plan(lake, 1)
    write(lake, "silver/ship_events", SCANS, 1)
    (lake / CHECKPOINT / "metadata").write_text(json.dumps({"id": "another"}))
    assert Gaps(str(lake)).of_kill() == PLANNED
