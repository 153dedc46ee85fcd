"""What a soak finds of its samples."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.faults.soak import WATCHED, Sample, series, told, write_plots

TABLE = "silver.ship_events"
FLAT = [Sample(number / 10, 1_000, 50, {TABLE: 20, "ops.batches": 1}, 1.5, 100) for number in range(30)]


def test_job_that_stays_as_it_is_has_not_grown() -> None:
    assert {each.growth for each in series(FLAT)} == {1.0}
    assert told(FLAT) == 0


@pytest.mark.parametrize("name", WATCHED)
def test_growth_of_each_thing_is_a_failure_that_names_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    values: list[dict[str, Any]] = [{name: 10 * (1 + number)} for number in range(len(FLAT))]
    grown = [replace(sample, **changed) for sample, changed in zip(FLAT, values, strict=True)]
    assert told(grown) == 1
    assert f"Grown by more than 1.25: {WATCHED[name]}." in capsys.readouterr().out


def test_growth_of_one_table_is_a_failure_that_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    grown = [
        replace(sample, table_files={**sample.table_files, TABLE: 10 + number}) for number, sample in enumerate(FLAT)
    ]
    assert told(grown) == 1
    assert f"Grown by more than 1.25: Files of {TABLE}." in capsys.readouterr().out


def test_few_files_of_a_table_come_and_go() -> None:
    few = [replace(sample, table_files={TABLE: 1 + number // 5}) for number, sample in enumerate(FLAT)]
    assert told(few) == 0


def test_warming_up_and_a_single_slow_batch_are_no_growth() -> None:
    warming = [replace(sample, batch_seconds=9.0) for sample in FLAT[:10]]
    assert told([*warming, *FLAT[10:-1], replace(FLAT[-1], batch_seconds=60.0)]) == 0


def test_plots_and_samples_are_kept(tmp_path: Path) -> None:
    write_plots(FLAT, tmp_path)
    assert len(list(tmp_path.glob("soak-*.svg"))) == len(WATCHED) + 1
    assert [Sample(**row) for row in json.loads((tmp_path / "soak.json").read_text())] == FLAT
