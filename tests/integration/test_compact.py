"""Compaction, again and again, beside a live job and its readers: nobody fails, and the tables are the log's.

pytest tests/integration/test_compact.py --compact-rounds 30    so often, not three times
"""

import json
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines import commands
from pipelines.checks import verify
from pipelines.errors import NotFound
from pipelines.io.delta import delta_table, files
from pipelines.io.duckdb.reader import LakeReader
from pipelines.maintenance.compact import compact
from pipelines.maintenance.compacted import Compacted
from pipelines.settings import Settings
from pipelines.state.snapshots import snapshot
from tests.calling import Call
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.pts_process import process, settings_of, wait_for, wait_until
from tests.integration.test_while_it_runs import AGREEMENT
from tests.unneeded import leave_behind

pytestmark = pytest.mark.long


FEED = commands.Simulate(seed=6, packages=10_000, rate=100)
DAY = timedelta(days=1)
REPORTS = "gold.remaining_stops"


def read_until(stop: threading.Event, root: str) -> int:
    """Reads the newest reports, by two readers, and all tables where they agree; tells how often. A failure ends it."""
    times = 0
    while not stop.is_set():
        DeltaTable(f"{root}/{REPORTS.replace('.', '/')}").to_pyarrow_table()
        LakeReader(root).query(f"SELECT count(*) FROM {REPORTS}")
        try:
            found = snapshot(root)
        except NotFound:
            continue  # the first minute
        (row,) = LakeReader(root, found.versions, found.batch_id).query(AGREEMENT).to_pylist()
        assert row["in_windows"] == 2 * row["scans"] > 0
        assert row["reports"] == row["packages"]
        times += 1
    return times


def compact_everything(root: str, monkeypatch: pytest.MonkeyPatch) -> Compacted:
    """Also what does not pay: the live job must hand over the lease."""
    with monkeypatch.context() as patch:
        patch.setattr(files, "MANY_SMALL", 1)
        patch.setattr(delta_table, "LONG_LOG", 1)
        return compact(root, DAY)


def kill_one(environment: dict[str, str], log: Path, seconds: float) -> None:
    with process(["compact"], environment, log) as command:
        time.sleep(seconds)
        command.send_signal(signal.SIGKILL)


def last_batch(root: str) -> int:
    (row,) = LakeReader(root).query("SELECT max(batch_id) AS batch_id FROM ops.batches").to_pylist()
    return int(row["batch_id"])


def has_come_to(root: str, batch_id: int) -> bool:
    return last_batch(root) >= batch_id


def test_job_compaction_and_readers_do_not_hurt_each_other(
    new_log: Settings, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    root, log = new_log.lake_root, tmp_path / "job.log"
    environment = settings_of(new_log, "lake")
    stop, chance = threading.Event(), random.Random(1)
    joined = vacuumed = 0
    held: list[float] = []
    with (
        process(FEED.argv(), environment, tmp_path / "feed.log") as feed,
        process(["stream"], environment, log) as job,
        ThreadPoolExecutor() as pool,
    ):
        wait_for(log, '"batch_id": 0')
        reader = pool.submit(read_until, stop, root)
        rounds = pytestconfig.getoption("--compact-rounds")
        try:
            for number in range(rounds):
                before = last_batch(root)
                leave_behind(root, str(number))
                kill_one(environment, tmp_path / "killed.log", chance.uniform(0.5, 4))
                done = call(["compact", "--json"], environment)
                assert done.returncode == 0, done.stderr
                tables = json.loads(done.stdout)["tables"]
                vacuumed += sum(each["vacuumed"]["file_count"] for each in tables)
                assert not any(each["left"] for each in tables)
                found = compact_everything(root, monkeypatch)
                assert not any(each.left for each in found.tables)
                held.append(found.held_seconds)
                joined += sum(each.after.files.file_count < each.before.files.file_count for each in found.tables)
                wait_until(partial(has_come_to, root, before + 3), log)
                assert job.poll() is None
                assert feed.poll() is None
        finally:
            stop.set()
        assert reader.result() > rounds
        feed.send_signal(signal.SIGTERM)
        feed.wait(timeout=60)
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=90) == 0, log.read_text()[-3000:]
    assert joined
    assert vacuumed
    assert all(held)
    drained = call(["stream", "--drain"], environment)
    assert drained.returncode == 0, drained.stderr[-3000:]
    assert "Traceback" not in log.read_text()
    assert_lake_equals_log(root, read_log(new_log.bootstrap_servers))
    verify.run(commands.Verify(), new_log)
