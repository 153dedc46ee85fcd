"""`pts check` on a small lake: all expectations of a sound one are met, and each of them can fail by itself."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from expectations import check as job
from expectations.pages import keep_newest
from expectations.result import Checked, raise_if_failed
from expectations.suites import SUITES
from expectations.truth import Severity, Suite, Truth
from expectations.validation import Measured, validated
from pipelines.commands import Check
from pipelines.contracts.epoch import EPOCH
from pipelines.errors import ExpectationFailed, NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.settings import Settings
from pipelines.state.snapshots import snapshot
from pipelines.tables import EXPECTED, OPS_BATCHES
from tests.calling import Pts
from tests.checks.verify_defects import DEFECTS as VIOLATIONS
from tests.checks.verify_defects import Defect as Violated
from tests.checks.verify_defects.planting import EVENTS, ledger
from tests.expectations.defects import CHECKED_AT, DEFECTS, QUALITY, Defect, sound_lake
from tests.healthy_lake import CONSISTENT_BATCH, HealthyLake, healthy_lake
from tests.oracle.makers import at

pytestmark = pytest.mark.slow

NOW = EPOCH + timedelta(microseconds=CHECKED_AT)
LEDGER_SUITE = next(suite for suite in SUITES if suite.table == OPS_BATCHES)


def checked(lake: HealthyLake, home: Path, suites: tuple[Suite, ...] = SUITES, now: datetime = NOW) -> Checked:
    settings = Settings(home=home, quality=QUALITY)
    if not (home / "lake").exists():
        lake.write(home / "lake")
    return job.check(settings, snapshot(settings.lake_root), suites, now)


def measured(lake: HealthyLake, home: Path, suites: Iterable[Suite] = SUITES) -> list[Measured]:
    lake.write(home)
    return job.measure(str(home), suites, snapshot(str(home)), NOW)


def reading(tables: Iterable[str]) -> tuple[Suite, ...]:
    """Suites of which a query reads one of the tables. By the ledger all of them find their rows."""
    names = set(tables)
    if OPS_BATCHES.name in names:
        return SUITES
    return tuple(suite for suite in SUITES if any(name in truth.sql for truth in suite.truths for name in names))


def not_met(found: Checked) -> list[tuple[str, str]]:
    return [(each.table_name, each.expectation) for each in found.results if each.outcome != "met"]


def only(truth: Truth) -> tuple[Suite, ...]:
    return (Suite(OPS_BATCHES, (truth,)),)


def test_every_expectation_of_a_sound_lake_is_met_and_noted_in_ops_quality(tmp_path: Path) -> None:
    found = checked(sound_lake(), tmp_path)

    assert not_met(found) == []
    raise_if_failed(found)
    rows = LakeReader(str(tmp_path / "lake")).query("FROM ops.quality").to_pylist()
    assert {(row["table_name"], row["expectation"]) for row in rows} == {
        (suite.table.name, truth.name) for suite in SUITES for truth in suite.truths
    }
    assert {(row["batch_id"], row["checked_at"], row["outcome"], row["page"]) for row in rows} == {
        (3, NOW, "met", found.page)
    }


def as_statistics(suites: Iterable[Suite]) -> tuple[Suite, ...]:
    """Without what `pts verify` claims, too."""
    return tuple(replace(suite, truths=tuple(each for each in suite.truths if not each.check)) for suite in suites)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """What is measured of the sound lake, by table."""
    found = measured(sound_lake(), tmp_path_factory.mktemp("sound"), as_statistics(SUITES))
    return {each.suite.table.name: each.facts for each in found}


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_planted_defect_is_found_by_its_expectation_and_no_other(
    defect: Defect, sound: dict[str, pa.Table], tmp_path: Path
) -> None:
    lake, before = sound_lake(), sound_lake()
    defect.plant(lake)
    changed = [name for name, rows in lake.tables.items() if rows != before.tables[name]]
    assert lake.later == before.later
    # The numbers that are those of the sound lake were judged above.
    again = measured(lake, tmp_path, as_statistics(reading(changed)))
    others = [each for each in again if each.facts != sound[each.suite.table.name]]
    found = validated(others, QUALITY, CONSISTENT_BATCH, NOW, tmp_path / "pages")
    assert [name for name, outcome in found.items() if outcome != "met"] == [(defect.table, defect.expectation)]


CLAIMED = {truth.name: suite for suite in SUITES for truth in suite.truths if truth.check}


FOUND_BY_VERIFY = {defect.check: defect for defect in VIOLATIONS if defect.check in CLAIMED}
"""One of its defects for each claim: that verify finds them all, its own tests prove."""


@pytest.mark.parametrize("defect", FOUND_BY_VERIFY.values(), ids=lambda defect: defect.check)
def test_claim_of_verify_is_not_met_by_what_verify_finds_and_the_first_violation_is_told(
    defect: Violated, tmp_path: Path
) -> None:
    lake = healthy_lake()
    defect.plant(lake)
    suite = CLAIMED[defect.check]
    (found,) = measured(lake, tmp_path, [suite])
    assert f"{found.examples[defect.check]}." == defect.says
    verdicts = validated([found], QUALITY, CONSISTENT_BATCH, NOW, tmp_path / "pages")
    assert verdicts[suite.table.name, defect.check] == "failed"


def test_every_expectation_has_a_defect_that_it_finds() -> None:
    found = {(defect.table, defect.expectation) for defect in DEFECTS}
    found |= {(CLAIMED[check].table.name, check) for check in FOUND_BY_VERIFY}
    assert found == {(suite.table.name, truth.name) for suite in SUITES for truth in suite.truths}


def test_every_table_but_the_archives_has_a_suite() -> None:
    assert [suite.table for suite in SUITES] == list(EXPECTED)


def test_critical_failure_names_what_failed_and_what_to_do_and_a_warning_does_not_fail(tmp_path: Path) -> None:
    lake = sound_lake()
    for row in lake.ledger:
        row["committed_at"] = at("08:00")
    ledger(1, "offsets", {"start_offset": 5}, **EVENTS, kafka_partition=0)(lake)
    found = checked(lake, tmp_path, (LEDGER_SUITE,))

    assert found.outcome == "failed"
    with pytest.raises(ExpectationFailed) as failure:
        raise_if_failed(found)
    assert "ops.batches ledger_ranges_meet is 1, expected 0 to 0: batch 1 starts ship-events/0 at offset 5" in str(
        failure.value
    )
    assert "records_came_lately" not in str(failure.value)
    assert str(failure.value).endswith(f"Page: {found.page}")
    assert found.as_json()["counts"] == {"met": 3, "failed": 2, "error": 0, "unknown": 0}
    assert [each["expectation"] for each in found.as_json()["warnings"]] == ["records_came_lately"]

    only_warned = replace(found, results=tuple(each for each in found.results if not each.fails))
    assert only_warned.outcome == "warned"
    raise_if_failed(only_warned)


@pytest.mark.parametrize("severity", ["critical", "warning"])
def test_expectation_that_cannot_be_evaluated_is_an_error_and_fails_the_check(
    severity: Severity, tmp_path: Path
) -> None:
    text = replace(LEDGER_SUITE.truths[-1], is_of_now=False, sql="SELECT 'many'", severity=severity)
    found = checked(sound_lake(), tmp_path, only(text))
    assert [each.outcome for each in found.results] == ["error"]
    with pytest.raises(ExpectationFailed, match="could not be evaluated"):
        raise_if_failed(found)


def test_nothing_to_judge_by_is_unknown_for_a_warning_and_a_failure_for_what_is_critical(tmp_path: Path) -> None:
    nothing = replace(LEDGER_SUITE.truths[-1], severity="critical", sql="SELECT NULL::BIGINT")
    assert checked(sound_lake(), tmp_path, only(nothing)).outcome == "failed"
    warning = replace(nothing, severity="warning")
    later = checked(sound_lake(), tmp_path, only(warning), NOW + timedelta(seconds=1))
    assert [each.outcome for each in later.results] == ["unknown"]
    assert later.outcome == "met"


def test_pages_show_verdict_and_note_and_those_of_old_runs_are_deleted(tmp_path: Path) -> None:
    found = checked(sound_lake(), tmp_path, (LEDGER_SUITE,))
    page = Path(found.page)
    assert page.is_file()
    (of_table,) = page.parent.glob("validations/ops/batches/batch-3/*/*.html")
    assert LEDGER_SUITE.truths[1].catches in of_table.read_text()

    newer = page.parent.with_name("20270101T000000000000Z-batch-4")
    foreign = page.parent.with_name("mine")
    for folder in (newer, foreign):
        folder.mkdir()
    keep_newest(page.parent.parent, 1)
    assert (page.exists(), newer.exists(), foreign.exists()) == (False, True, True)


def test_command_judges_the_tables_asked_for_and_ends_with_a_json_line(tmp_path: Path, pts: Pts) -> None:
    sound_lake().write(tmp_path / "lake")

    line = json.loads(pts("check", "--table", "ops.batches", "--at-batch", "3", "--json", home=tmp_path).stdout)
    assert (line["outcome"], line["batch_id"], line["failures"]) == ("met", 3, [])
    assert line["counts"]["met"] == len(LEDGER_SUITE.truths) - 1, "what speaks of now is left out"
    assert Path(line["page"]).is_file()

    ended = pts("check", "--table", "ops.batches", home=tmp_path)
    assert ended.returncode == 0
    assert "Warning: ops.batches records_came_lately is" in ended.stdout
    assert "At batch 3: warned." in ended.stdout


def test_version_whose_files_are_gone_is_refused(tmp_path: Path) -> None:
    sound_lake().write(tmp_path / "lake")
    next((tmp_path / "lake" / "gold" / "stop_activity").glob("*.parquet")).unlink()
    with pytest.raises(NotFound, match=r"gold\.stop_activity at version 0 .* can no longer be read"):
        job.run(Check(), Settings(home=tmp_path))
