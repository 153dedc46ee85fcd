"""`pts verify` on a small lake: what it says of a healthy one, and that each of its checks can fail."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines import commands
from pipelines.checks import verify
from pipelines.checks.verify_checks import CHECKS, STAGES
from pipelines.cli import main as cli
from pipelines.errors import NotFound, Violation
from pipelines.settings import Settings
from pipelines.terminal.checks import verified_page
from tests.checks.verify_defects import DEFECTS, IMPLIED, Defect
from tests.healthy_lake import HealthyLake, healthy_lake
from tests.oracle.makers import at

pytestmark = pytest.mark.slow


def verified(lake: HealthyLake, home: Path) -> verify.Verified:
    lake.write(home / "lake")
    return verify.run(commands.Verify(), Settings(home=home))


def spoilt(defect: Defect) -> HealthyLake:
    lake = healthy_lake()
    defect.plant(lake)
    return lake


def test_healthy_lake_holds_what_its_ledger_says(tmp_path: Path) -> None:
    found = verified(healthy_lake(), tmp_path)

    assert found.checks == tuple(check.name for check in CHECKS)
    gaps = "; offsets without a committed record: 1"
    assert list(verified_page(found)) == [
        f"ship-events: 24 read = 21 accepted + 2 duplicates + 1 quarantined, in 3 batches up to batch 3{gaps}",
        "ship-routes: 5 read = 4 accepted + 0 duplicates + 1 quarantined, in 2 batches up to batch 3",
        f"All {len(CHECKS)} checks held: the tables at batch 3, the ledger up to batch 4.",
    ]


def test_folder_that_is_named_by_a_uri_is_verified_in_the_same_way(tmp_path: Path) -> None:
    healthy_lake().write(tmp_path)
    assert verify.run(commands.Verify(), Settings(lake=tmp_path.as_uri())).batch_id == 3


def test_verifying_writes_nothing(tmp_path: Path) -> None:
    healthy_lake().write(tmp_path / "lake")
    before = sorted(tmp_path.rglob("*"))
    verify.run(commands.Verify(), Settings(home=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_what_the_job_writes_after_the_last_complete_batch_is_not_seen(tmp_path: Path) -> None:
    healthy_lake().write(tmp_path / "lake")
    path = tmp_path / "lake" / "silver" / "ship_events"
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="append")
    assert verify.run(commands.Verify(), Settings(home=tmp_path)).batch_id == 3


def test_report_that_came_back_counts_and_not_the_one_in_the_archive(tmp_path: Path) -> None:
    lake = healthy_lake()
    archive = lake.tables["ops.expired_reports"]
    lake.tables["gold.remaining_stops"] += archive
    lake.tables["ops.expired_reports"] = [row | {"event_kafka_offset": 0} for row in archive]
    assert verified(lake, tmp_path).batch_id == 3


def test_board_may_have_removed_what_its_windows_still_have(tmp_path: Path) -> None:
    lake, boards = healthy_lake(), "gold.busiest_stops"
    apply_expiry, kept = at("10:30"), lake.tables[boards]
    lake.tables[boards] = [row for row in kept if row["window_end"] >= apply_expiry]
    assert 0 < len(lake.tables[boards]) < len(kept)
    for row in lake.ledger:
        next(state for state in row["tables"] if state["table_name"] == boards)["expired_before"] = apply_expiry
    assert verified(lake, tmp_path).batch_id == 3


def test_lake_without_a_batch_has_nothing_to_verify(tmp_path: Path) -> None:
    lake = healthy_lake()
    lake.ledger.clear()
    with pytest.raises(NotFound, match="no batch"):
        verified(lake, tmp_path)


def test_version_whose_files_are_gone_is_not_taken_for_an_empty_table(tmp_path: Path) -> None:
    healthy_lake().write(tmp_path / "lake")
    next((tmp_path / "lake" / "gold" / "stop_activity").glob("*.parquet")).unlink()
    with pytest.raises(NotFound, match=r"gold\.stop_activity at version 0 .* can no longer be read"):
        verify.run(commands.Verify(), Settings(home=tmp_path))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.what)
def test_violation_is_named_with_the_values_that_disagree_when(defect: Defect, tmp_path: Path) -> None:
    with pytest.raises(Violation) as violation:
        verified(spoilt(defect), tmp_path)
    assert str(violation.value) == f"{defect.check} does not hold: {defect.says} {defect.remedy}"


def test_first_of_several_violations_is_named(tmp_path: Path) -> None:
    lake = healthy_lake()
    for defect in reversed(DEFECTS[-2:]):
        defect.plant(lake)
    DEFECTS[0].plant(lake)
    with pytest.raises(Violation, match=f"^{DEFECTS[0].check} does not hold"):
        verified(lake, tmp_path)


def test_duplicates_are_counted_in_the_tables_and_not_by_subtraction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = tuple(
        replace(stage, checks=tuple(check for check in stage.checks if check.name == IMPLIED.check)) for stage in STAGES
    )
    monkeypatch.setattr(verify, "STAGES", only)
    with pytest.raises(Violation) as violation:
        verified(spoilt(IMPLIED), tmp_path)
    assert str(violation.value) == f"{IMPLIED.check} does not hold: {IMPLIED.says} {IMPLIED.remedy}"


def test_each_check_has_a_defect_that_it_finds() -> None:
    assert {defect.check for defect in (*DEFECTS, IMPLIED)} == {check.name for check in CHECKS}


def test_each_check_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.meaning.endswith(".") for check in CHECKS)


def test_text_of_a_record_is_no_command_to_the_terminal(tmp_path: Path) -> None:
    lake = healthy_lake()
    for row in lake.tables["gold.carrier_throughput"]:
        row["carrier_code"] = "\x1b[2J"
    with pytest.raises(Violation, match=r"scans of carrier .\[2J with status") as violation:
        verified(lake, tmp_path)
    assert "\x1b" not in str(violation.value)


def test_json_is_one_object_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pts_verify(healthy_lake(), "--json", home=tmp_path, monkeypatch=monkeypatch) == 0
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    found = json.loads(line)
    assert (found["batch_id"], found["ledger_batch_id"], len(found["checks"])) == (3, 4, len(CHECKS))
    assert found["counts"]["ship-events"] == {
        "read_count": 24,
        "accepted_count": 21,
        "duplicate_count": 2,
        "quarantined_count": 1,
        "batch_count": 3,
        "gap_count": 1,
    }


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_violation_is_a_sentence_on_stderr_and_exit_code_13(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defect = DEFECTS[-1]
    assert pts_verify(spoilt(defect), *options, home=tmp_path, monkeypatch=monkeypatch) == 13
    assert capsys.readouterr() == ("", f"pts: {defect.check} does not hold: {defect.says} {defect.remedy}\n")


def pts_verify(lake: HealthyLake, *options: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `pts verify` on the lake."""
    lake.write(home / "lake")
    monkeypatch.setenv("PTS_HOME", str(home))
    monkeypatch.setattr(sys, "argv", ["pts", "verify", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code
