"""Commands that may take seconds tell what they do, and write nothing of it where no terminal is."""

from pathlib import Path

import pytest

from pipelines.checks.verify_checks import CHECKS
from pipelines.progress import PartBegun, Step, reported_to
from tests.calling import Pts
from tests.healthy_lake import healthy_lake

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("verify", {"Reading what is checked", *(f"Checking {check.name}" for check in CHECKS)}),
        ("check", {"Reading what is judged", "Measuring gold.stop_activity", "Judging, and writing pages"}),
        ("compact --dry-run", {"Looking for unneeded files of ops.batches"}),
        ("snapshot", {"Reading the ledger"}),
        ("report 42 --explain", {"Reading package 42", "Reading what was told after each batch"}),
        ("quarantine list", {"Counting rejected records"}),
        ("quarantine show --reason empty", {"Reading rejected records"}),
        ("sql FROM\u00a0gold.remaining_stops", {"Running the query"}),
    ],
)
def test_command_tells_what_it_does(command: str, told: set[str], pts: Pts, tmp_path: Path) -> None:
    healthy_lake().write(tmp_path / "lake")
    steps = list[Step]()
    with reported_to(steps.append):
        found = pts(*(word.replace("\u00a0", " ") for word in command.split(" ")), home=tmp_path)
    assert told <= {step.doing for step in steps if isinstance(step, PartBegun)}
    assert (found.returncode, found.stderr) == (0, "")
