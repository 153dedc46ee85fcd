"""The list of mutations fits the code, and the check of them can fail."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lab.mutations import MUTATIONS, Mutation
from lab.mutations.__main__ import main
from lab.mutations.check import ROOT, Unusable, checked
from lab.mutations.page import mutations_page
from pipelines.contracts import rules

NOTICED = Mutation(
    rule="No table catches up where none waits",
    broken="somebody has",
    path="pipelines/engine/schedule.py",
    old="state.position < last.batch_id",
    new="state.position <= last.batch_id",
    test="tests/engine/test_schedule.py::test_no_table_catches_up_where_none_waits",
)
UNNOTICED = replace(
    NOTICED, test="tests/engine/test_schedule.py::test_a_round_brings_all_to_the_batch_before_it_one_group_in_a_batch"
)


def test_every_mutation_applies_to_exactly_one_place() -> None:
    for mutation in MUTATIONS:
        assert mutation.applied(ROOT) != (ROOT / mutation.path).read_text(encoding="utf-8"), mutation.name


def test_no_two_mutations_are_the_same() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
    assert len({(mutation.path, mutation.old, mutation.new) for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.slow
def test_every_test_that_is_named_is_there_and_one_that_is_not_is_noticed() -> None:
    here = "tests/lab/test_mutations.py::test_no_two_mutations_are_the_same"
    not_there = [f"{here}[whatever]", f"{here}_or_are_they"]
    named = [*(mutation.test for mutation in MUTATIONS), *not_there]
    options = ("--collect-only", "-q", "-p", "no:cacheprovider")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *named], cwd=ROOT, capture_output=True, text=True, check=False
    )
    missing = [line for line in found.stderr.splitlines() if line.startswith("ERROR: not found: ")]
    assert sorted(line.partition(f"{ROOT}/")[2] for line in missing) == [here, not_there[1]], "parameters are not told"


def test_every_constant_of_the_rules_is_changed_or_misused_somewhere() -> None:
    """All but the retentions: what `pts expire` removes is tested as a whole, in `tests/maintenance/test_expire.py`."""
    texts = "\n".join(mutation.old for mutation in MUTATIONS)
    constants = {name for name in vars(rules) if name.isupper() and not name.endswith("_RETENTION")}
    assert "STOP" in constants
    assert {name for name in constants if name not in texts} == set()


def test_every_reason_for_quarantine_is_broken_somewhere() -> None:
    broken = {mutation.rule.split("`")[1] for mutation in MUTATIONS if mutation.rule.startswith("`")}
    assert broken == set(rules.Reason)


def test_page_of_mutations_is_current() -> None:
    """`python -m lab.mutations --docs > docs/mutations.md` makes it so."""
    assert (ROOT / "docs" / "mutations.md").read_text(encoding="utf-8") == mutations_page(MUTATIONS)


def test_old_text_that_is_not_there_once_is_refused(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("a = 1\nb = 1\n")
    mutation = replace(NOTICED, path="code.py", new="2")
    for old in ("1", "3"):
        with pytest.raises(ValueError, match=r"code.py has [02] times, not once"):
            replace(mutation, old=old).applied(tmp_path)
    with pytest.raises(ValueError, match=r"code.py is no Python"):
        replace(mutation, old="a = 1", new="a =").applied(tmp_path)
    assert replace(mutation, old="a = 1", new="a = 2").applied(tmp_path) == "a = 2\nb = 1\n"


@pytest.mark.long
def test_mutation_that_a_test_notices_is_killed_and_one_that_none_notices_survives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([], [NOTICED, UNNOTICED]) == 1
    unmutated, noticed, unnoticed, total = capsys.readouterr().out.splitlines()
    assert unmutated.startswith("2 tests pass unmutated")
    assert noticed.startswith("killed ")
    assert unnoticed.startswith("SURVIVED ")
    assert total.startswith("2 mutations: 1 killed, 1 survived, 0 unusable")


@pytest.mark.long
def test_a_test_that_cannot_be_run_is_no_verdict() -> None:
    with pytest.raises(Unusable, match="pytest ended with 4"):
        checked(replace(NOTICED, test="tests/engine/test_pace.py::test_of_nothing"))
    with pytest.raises(Unusable, match="No module named 'no_such_module'"):
        checked(replace(NOTICED, old="import time\n", new="import no_such_module\n"))


@pytest.mark.long
def test_nothing_is_checked_while_a_test_fails_unmutated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], [replace(NOTICED, test="tests/engine/test_pace.py::test_of_nothing")]) == 2
    assert "Nothing is mutated yet, and a test fails" in capsys.readouterr().out


def test_mutations_are_chosen_by_a_part_of_their_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no such text"], [NOTICED]) == 2
    assert capsys.readouterr().out == "No mutation contains 'no such text'.\n"
