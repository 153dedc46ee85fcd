"""What a campaign tells at its end, and of earlier ones."""

import json
import sys
from pathlib import Path

import pytest

from lab.faults.__main__ import chosen, main
from lab.faults.campaign import KEPT, KINDS, Case, Verdict
from lab.faults.gaps import LEDGER, OF_TASKS, TABLES


def test_campaigns_that_were_are_told_in_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaigns = (
        [
            Verdict("kill-job:1", "held", 60, 3, [10.0, 14.0], [LEDGER, LEDGER + OF_TASKS, TABLES[0]]),
            Verdict("retention:1", "held", 30),
        ],
        [Verdict("kill-job:2", "broken", 50, 1, [20.0], said="lost")],
    )
    files = [tmp_path / f"{number}.json" for number in range(len(campaigns))]
    for file, verdicts in zip(files, campaigns, strict=True):
        file.write_text(json.dumps([verdict.as_json() for verdict in verdicts]))
    monkeypatch.setattr(sys, "argv", ["faults", "--tell", *map(str, files)])
    main()
    said = capsys.readouterr().out
    assert "| kill-job | 2 | 1 | 4 | 3 | 14.0 | 20.0 |" in said
    assert "| retention | 1 | 1 | 0 | 0 | | |" in said
    assert "| ledger written, not Spark's commit | 2 | 1 |" in said


def test_kept_cases_come_first_and_then_each_fault_or_as_many_cases_as_are_asked_for() -> None:
    assert list(chosen(None, 5, ())) == [*KEPT, *(Case(kind, 5) for kind in KINDS)]
    assert list(chosen(None, 0, ("lake-read-only",))) == [Case("lake-read-only", 0)]
    assert list(chosen(1, 7, ("lake-read-only",))) == [Case("lake-read-only", 0), Case("lake-read-only", 7)]
    assert list(chosen(2, 7, ("kill-job",))) == [Case("kill-job", 7), Case("kill-job", 8)]


def test_fault_that_there_is_not_is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["faults", "fire:1"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no fault 'fire'; there are kill-job, " in capsys.readouterr().err
