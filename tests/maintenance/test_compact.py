"""Compaction takes nothing away that somebody may read, and stays out of everybody's way."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines import commands
from pipelines.checks import verify
from pipelines.errors import AnotherWriter, InvalidInput, LakeMismatch, NotFound
from pipelines.io.delta import delta_table, files
from pipelines.io.duckdb.reader import LakeReader
from pipelines.maintenance import compact as job
from pipelines.maintenance.compact import compact
from pipelines.maintenance.retention import needed
from pipelines.settings import Compact, Settings, load_settings
from pipelines.state.exclusion import deleting_files
from pipelines.state.handover import handed_over
from pipelines.state.replay_records import Promotion, Replay, Replays
from pipelines.state.snapshots import snapshot
from pipelines.tables import TABLES
from tests.calling import Pts
from tests.healthy_lake import HealthyLake, healthy_lake
from tests.leases import writer_lease

pytestmark = pytest.mark.slow

NO_TIME, DAY = timedelta(0), timedelta(days=1)
SCANS, REPORTS = "silver.ship_events", "gold.remaining_stops"
PAST = 3
EARLY_BATCH, EARLY_VERSION = 1, 1
SOME_TIME = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A healthy lake whose tables have older versions: at batch 1 the ledger has them at version 1, then at 3 or 4."""
    lake = healthy_lake()
    for row in lake.ledger:
        for state in row["tables"]:
            state["version"] = EARLY_VERSION if row["batch_id"] <= EARLY_BATCH else state["version"] + PAST
    for _ in range(PAST):
        HealthyLake(lake.tables).write(tmp_path)
    lake.write(tmp_path)
    return str(tmp_path)


def readable(root: str, name: str = SCANS, until: int = PAST + 1) -> set[int]:
    """The versions of a table, up to one, that have all their files."""
    found = set()
    for version in range(until + 1):
        try:
            LakeReader(root, {name: version}).check_files(name)
        except NotFound:
            continue
        found.add(version)
    return found


def replay(fence: int, *promotions: Promotion, name: str = "fix") -> Replay:
    return Replay(
        replay_id=name,
        created_at=SOME_TIME,
        fence=fence,
        begin={},
        steps=(),
        max_records=1,
        code="",
        promotions=promotions,
    )


def promotion(batch_id: int, version: int, *, is_done: bool = True) -> Promotion:
    before = dict.fromkeys((table.name for table in TABLES), version)
    return Promotion(
        begun_at=SOME_TIME,
        batch_id=batch_id,
        way_back_to=batch_id - 1,
        before=before,
        shadow_versions={},
        positions={},
        done_at=SOME_TIME if is_done else None,
    )


def test_newest_complete_batch_can_be_read_whatever_its_age_and_older_ones_cannot(root: str) -> None:
    compact(root, NO_TIME)
    at = snapshot(root)
    assert at.versions[SCANS] == PAST
    assert readable(root) == {PAST, PAST + 1}
    assert verify.run(commands.Verify(), Settings(lake=root)).batch_id == at.batch_id


def test_within_the_retention_every_version_can_be_read(root: str) -> None:
    then = time.time() - 40 * DAY.total_seconds()
    for file in Path(root).glob("*/*/*.parquet"):
        os.utime(file, (then, then))
    found = compact(root, DAY)
    assert not any(each.vacuumed.file_count for each in found.tables)
    for table in found.tables:
        assert readable(root, table.table, table.after.version) == set(range(table.after.version + 1))


def test_what_was_written_after_the_ledgers_last_row_stays(root: str) -> None:
    """A batch that was cut off goes on from the files that its commits added."""
    later = healthy_lake().tables
    for _ in range(2):
        HealthyLake({SCANS: later[SCANS]}).write(Path(root))
    compact(root, NO_TIME)
    assert readable(root, until=PAST + 3) == {PAST, PAST + 1, PAST + 2, PAST + 3}


def test_as_of_batch_of_a_replay_that_is_not_promoted_can_be_read_until_it_is_dropped(root: str) -> None:
    Replays(root).save(replay(fence=EARLY_BATCH))
    assert compact(root, NO_TIME).replays == ("fix",)
    assert readable(root) == {EARLY_VERSION, PAST, PAST + 1}
    Replays(root).drop("fix")
    assert compact(root, NO_TIME).replays == ()
    assert readable(root) == {PAST, PAST + 1}


def test_tables_before_a_promotion_can_be_read_until_it_is_rolled_back(root: str) -> None:
    Replays(root).save(replay(3, promotion(5, version=2)))
    compact(root, NO_TIME)
    assert readable(root) == {2, PAST, PAST + 1}
    Replays(root).save(replay(3, promotion(6, version=PAST), name="back-5"))
    compact(root, NO_TIME)
    assert readable(root) == {PAST, PAST + 1}


def test_only_the_newest_promotion_of_a_replay_can_be_rolled_back(root: str) -> None:
    Replays(root).save(replay(3, promotion(5, version=0), promotion(7, version=2)))
    compact(root, NO_TIME)
    assert readable(root) == {2, PAST, PAST + 1}


def test_version_that_the_log_has_lost_is_no_reason_to_fail(root: str) -> None:
    Replays(root).save(replay(3, promotion(5, version=99)))
    assert needed(root).versions[SCANS] == {PAST, PAST + 1}
    compact(root, NO_TIME)


@pytest.mark.parametrize(("checkpoint", "left"), [(PAST, None), (PAST + 1, PAST)])
def test_old_commits_leave_the_log_but_for_those_of_a_version_that_is_needed(
    root: str, checkpoint: int, left: int | None
) -> None:
    DeltaTable(f"{root}/silver/ship_events", version=checkpoint).create_checkpoint()
    log = Path(root, "silver", "ship_events", "_delta_log")
    then = time.time() - 31 * DAY.total_seconds()
    for file in log.iterdir():
        os.utime(file, (then, then))
    (table,) = [each for each in compact(root, NO_TIME).tables if each.table == SCANS]
    told = f"version {left} is needed, and would be deleted from the log with others older than 30 days"
    assert table.left == (told if left else None)
    assert (log / f"{0:020d}.json").exists() == bool(left)
    assert PAST in readable(root)


def test_second_run_does_nothing(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_table, "LONG_LOG", 4)
    first = compact(root, NO_TIME)
    assert all(each.has_new_checkpoint and each.vacuumed.file_count for each in first.tables if each.table == SCANS)
    before = sorted(Path(root).rglob("*"))
    second = compact(root, NO_TIME)
    assert sorted(Path(root).rglob("*")) == before
    assert [each.after for each in second.tables] == [each.after for each in first.tables]


def test_dry_run_tells_what_would_go_and_writes_nothing(root: str) -> None:
    before = sorted(Path(root).rglob("*.parquet")) + sorted(Path(root).rglob("*.json"))
    told = compact(root, NO_TIME, dry_run=True)
    assert sorted(Path(root).rglob("*.parquet")) + sorted(Path(root).rglob("*.json")) == before
    done = compact(root, NO_TIME)
    assert [each.vacuumed for each in told.tables] == [each.vacuumed for each in done.tables]
    assert [each.before for each in told.tables] == [each.before for each in done.tables]


def test_table_that_the_live_job_rewrites_is_ordered_only_while_the_job_has_handed_over_the_lease(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MANY_SMALL", 1)
    monkeypatch.setattr(job, "handed_over", partial(handed_over, patience_seconds=0.1))
    with writer_lease(root):
        found = {each.table: each for each in compact(root, DAY).tables}
    assert "the next run tries again" in (found[REPORTS].left or "")
    assert not found[REPORTS].is_joined
    assert found[REPORTS].after.version == found[REPORTS].before.version
    assert found[SCANS].left is None
    found = {each.table: each for each in compact(root, DAY).tables}
    assert found[REPORTS].is_joined
    assert found[REPORTS].left is None
    assert found[REPORTS].after.version == found[REPORTS].before.version + 1


def test_table_for_which_the_job_would_wait_for_too_long_is_left(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MANY_SMALL", 1)
    monkeypatch.setattr(job, "HELD_BYTES", 0)
    left = {each.table for each in compact(root, DAY).tables if each.left}
    assert left == {table.name for table in TABLES if not table.is_append_only}


def test_lease_is_not_asked_for_when_no_table_needs_it(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "handed_over", partial(handed_over, patience_seconds=0.0))
    with writer_lease(root):
        assert not any(each.left for each in compact(root, NO_TIME).tables)


def test_nothing_is_done_while_another_command_takes_files_out(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "deleting_files", partial(deleting_files, patience_seconds=0.1))
    with deleting_files(root), pytest.raises(AnotherWriter, match="takes files out of the tables"):
        compact(root, NO_TIME)
    assert readable(root) == set(range(PAST + 2))


def test_promotion_that_was_cut_off_comes_first(root: str) -> None:
    """It has put files into folders that no version names yet."""
    Replays(root).save(replay(3, promotion(5, version=0, is_done=False)))
    with pytest.raises(LakeMismatch, match="`pts replay promote fix` finishes it"):
        compact(root, NO_TIME)
    assert readable(root) == set(range(PAST + 2))


def test_every_table_that_the_job_rewrites_has_an_order() -> None:
    assert [table.name for table in TABLES if bool(table.z_order_by) == table.is_append_only] == []


def test_lake_without_tables_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There are no tables"):
        job.run(commands.Compact(), Settings(lake=str(tmp_path)))


def test_retention_that_would_hurt_readers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for hours in ("23", "169"):
        monkeypatch.setenv("PTS_COMPACT__RETENTION_HOURS", hours)
        with pytest.raises(InvalidInput, match="PTS_COMPACT__RETENTION_HOURS"):
            load_settings()
    assert Compact(retention_hours=24).retention_hours == 24


def test_programs_get_one_line_of_json_and_people_a_table(root: str, pts: Pts, tmp_path: Path) -> None:
    Replays(root).save(replay(fence=EARLY_BATCH))
    line, nothing = pts("compact", "--json", home=tmp_path, PTS_LAKE=root).stdout.split("\n")
    found = json.loads(line)
    assert not nothing
    assert (found["retention_hours"], found["dry_run"], found["replays"]) == (168, False, ["fix"])
    assert {each["table"] for each in found["tables"]} == {table.name for table in TABLES}
    assert found["tables"][0]["before"]["files"].keys() == {"file_count", "byte_count"}
    shown = pts("compact", "--dry-run", home=tmp_path, PTS_LAKE=root).stdout
    assert SCANS in shown
    assert "Files stay for fix, until `pts replay drop`." in shown
    assert "Nothing was done. Files younger than 168 h stay." in shown
