"""The short campaign: kills of the job and of the broker; and a judge that notices what it should.

`make faults` runs all of them, as often as it is told.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from lab.faults import auditor, kills
from lab.faults.auditor import Auditor, Partial, Wrong, check_whole
from lab.faults.campaign import KINDS, Case, cases, judged, run
from lab.faults.load import aborted_beside
from lab.faults.scene import NotPermitted, Scene
from pipelines.processes.airflow import PROJECT
from pipelines.processes.pid_lock import holder
from pipelines.state.snapshots import snapshot
from tests.brokers import drain
from tests.comparison import Rows, in_micros, stored_rows
from tests.frames import in_order
from tests.window_bug import WINDOW_TABLES

pytestmark = pytest.mark.integration

SHORT = ("kill-broker:1",)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Scene]:
    """A lake whose job was killed within its first batches: the promises held."""
    with pytest.MonkeyPatch.context() as patch, Scene(tmp_path_factory.mktemp("kill"), seed=7).open() as scene:
        patch.setattr(auditor, "PAUSE_SECONDS", 1.0)  # other tests need the machine
        with scene.auditor.watching():
            scene.sent(1)
            drain(spark, scene.settings)  # so that there is a picture before the fault, too
            with scene.load():
                assert scene.killed("stream", moments=kills.BATCH_MOMENTS)
            scene.judge()
        assert scene.auditor.recovered_after
        assert len(scene.auditor.seen) > 1, "readers saw the tables move on while the job was killed"
        yield scene


@pytest.mark.long
@pytest.mark.parametrize("case", SHORT)
def test_promises_hold(case: str, tmp_path: Path) -> None:
    try:
        run(Case.parse(case), tmp_path)
    except NotPermitted as error:
        pytest.skip(str(error))


def lose_a_report(root: Path) -> None:
    table = DeltaTable(root / "gold" / "remaining_stops")
    table.delete(f"tracking_number = {table.to_pyarrow_table()['tracking_number'][0]}")


def double_a_record(root: Path) -> None:
    table = DeltaTable(root / "bronze" / "ship_events")
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")


def change_a_report(root: Path) -> None:
    table = DeltaTable(root / "gold" / "remaining_stops")
    rows = table.to_pyarrow_table()
    wrong = rows.set_column(
        rows.column_names.index("city"), "city", pa.array(["elsewhere", *rows["city"].to_pylist()[1:]])
    )
    write_deltalake(table, wrong, mode="overwrite")


@pytest.mark.parametrize("spoil", [lose_a_report, double_a_record, change_a_report])
def test_judge_notices_what_was_lost_doubled_or_changed(
    killed: Scene, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    shutil.copytree(killed.lake, tmp_path / "lake")
    spoil(tmp_path / "lake")
    with pytest.raises(AssertionError):
        Auditor(str(tmp_path / "lake"), killed.settings, killed.folder / "journal.csv").judge()


def test_judge_notices_an_acknowledged_record_that_is_not_on_the_log(killed: Scene, tmp_path: Path) -> None:
    journal = tmp_path / "journal.csv"
    journal.write_text((killed.folder / "journal.csv").read_text() + "ship-events,0,1000000,0011\n")
    with pytest.raises(AssertionError, match="1 acknowledged records are not on the log"):
        Auditor(str(killed.lake), killed.settings, journal).judge()


def test_judge_notices_an_aborted_record_that_is_on_the_log(killed: Scene, tmp_path: Path) -> None:
    journal = tmp_path / "journal.csv"
    shutil.copy(killed.journal, journal)
    aborted_beside(journal).write_text(journal.read_text().splitlines(keepends=True)[0])
    with pytest.raises(AssertionError, match="1 aborted records are on the log"):
        Auditor(str(killed.lake), killed.settings, journal).judge()


@pytest.mark.parametrize(
    "table", ["silver.ship_events", "gold.remaining_stops", "gold.stop_activity", "gold.failed_delivery_alerts"]
)
def test_reader_notices_a_table_that_is_behind_the_others(killed: Scene, table: str) -> None:
    """At its version 0, a table is empty."""
    seen = snapshot(str(killed.lake))
    check_whole(str(killed.lake), seen)
    behind = replace(seen, versions={**seen.versions, table: 0})
    with pytest.raises(Partial):
        check_whole(str(killed.lake), behind)


def test_windows_may_be_wrong_where_a_bug_was_planted_and_only_there(killed: Scene) -> None:
    root, seen = str(killed.lake), snapshot(str(killed.lake))
    all_wrong = replace(seen, versions={**seen.versions, **dict.fromkeys(WINDOW_TABLES, 0)})
    for some in (["gold.stop_activity", "gold.busiest_stops"], ["gold.carrier_throughput"]):
        some_wrong = replace(seen, versions={**seen.versions, **dict.fromkeys(some, 0)})
        assert not check_whole(root, some_wrong, Wrong.SOME)
        with pytest.raises(Partial):
            check_whole(root, some_wrong, Wrong.ALL)
    assert not check_whole(root, all_wrong, Wrong.ALL)
    assert check_whole(root, seen, Wrong.ALL)
    with pytest.raises(Partial):
        check_whole(root, all_wrong)
    with pytest.raises(Partial):
        check_whole(root, replace(all_wrong, versions={**all_wrong.versions, "silver.ship_events": 0}), Wrong.SOME)


def test_reader_notices_reports_that_are_a_batch_behind(killed: Scene) -> None:
    """Also where no package is new, so that there are as many as there should be."""
    root, seen, table = str(killed.lake), snapshot(str(killed.lake)), "gold.remaining_stops"
    newest = stored_rows(root, table)
    version = seen.versions[table]
    while (older := _rows_at(killed.lake, version)) == newest:
        version -= 1
    assert older
    with pytest.raises(Partial, match=r"'reports_behind': [1-9]"):
        check_whole(root, replace(seen, versions={**seen.versions, table: version}))


def test_reader_notices_a_report_with_another_route_than_the_newest(killed: Scene, tmp_path: Path) -> None:
    root = shutil.copytree(killed.lake, tmp_path / "lake")
    reports = DeltaTable(root / "gold" / "remaining_stops")
    reports.update({"route_kafka_offset": "route_kafka_offset + 1"}, predicate="route_id IS NOT NULL")
    seen = snapshot(str(killed.lake))
    spoiled = replace(seen, versions={**seen.versions, "gold.remaining_stops": reports.version()})
    with pytest.raises(Partial, match=r"'reports_behind': 0, 'routes_behind': [1-9]"):
        check_whole(str(root), spoiled)


def _rows_at(lake: Path, version: int) -> Rows:
    table = DeltaTable(lake / "gold" / "remaining_stops", version=version)
    return in_order(in_micros(table.to_pyarrow_table()).to_pylist())


def test_campaign_takes_each_fault_once_and_then_the_next_seed() -> None:
    found = list(cases(len(KINDS) + 1, first_seed=5))
    assert [case.kind for case in found[:-1]] == list(KINDS)
    assert found[-1] == Case(found[0].kind, 6)
    assert Case.parse(str(found[-1])) == found[-1]
    with pytest.raises(ValueError, match="there is no fault 'fire'"):
        Case.parse("fire:1")


def test_case_that_is_broken_says_how_it_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_scene: Scene) -> None:
        raise AssertionError("a row is missing")

    monkeypatch.setitem(KINDS, "kill-job", broken)
    monkeypatch.setattr(Scene, "open", lambda scene: nullcontext(scene))
    verdict = judged(Case("kill-job", 17))
    assert verdict.outcome == "broken"
    message, folder, again = verdict.said.splitlines()
    assert (message, again) == ("AssertionError: a row is missing", "Again: make faults CASE=kill-job:17")
    shutil.rmtree(folder.removeprefix("See "))


@pytest.mark.long
def test_campaign_that_is_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(PROJECT)}
    campaign = subprocess.Popen([sys.executable, "-m", "lab.faults", "kill-job:0"], cwd=tmp_path, env=environment)
    try:
        while not (found := [holder(file) for file in tmp_path.glob("*/home/run/broker.pid")]) or found[0] is None:
            assert campaign.poll() is None
            time.sleep(0.1)
        broker = found[0]
    finally:
        campaign.terminate()
        assert campaign.wait(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(broker, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["var"]
