"""A lake in an object store: what a folder's is, whoever dies, freezes or comes second."""

import json
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.errors import LakeMismatch
from pipelines.io.delta import data_files, delta_rs, duck
from pipelines.io.delta.delta_table import Tables
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import TableLog, Transaction
from pipelines.io.storage import access
from pipelines.live.resume import check_promotions
from pipelines.replay import build, compare, promote
from pipelines.settings import Settings, Storage
from pipelines.settings_variables import as_variables
from pipelines.stack import simulate
from pipelines.state.replay_records import Replays
from tests.brokers import drain
from tests.calling import Call
from tests.canaries import in_files, watched
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.pts_process import process, settings_of, wait_until
from tests.io.delta.test_lake import COLOURS
from tests.replay.offline import WRONG_FLOWS
from tests.saboteur import OF_A_SWAP, Saboteur

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=11, packages=300, rate=0, count=2_000)
LONG = FEED.model_copy(update={"packages": 3_000})
"""Of a world that is not at its end before the job is, on a slow machine."""

GOES_ON = LONG.model_copy(update={"rate": 50, "count": 1_000_000, "resume": True})
WRITERS, COMMITS = 3, 25


def in_store(log: Settings, storage: Storage, bucket: str, **variables: str) -> dict[str, str]:
    """The environment of a process whose lake is in the store."""
    reached = as_variables(log.model_copy(update={"storage": storage}))
    return settings_of(log, "lake") | reached | {"PTS_LAKE": f"{bucket}/pts"} | variables


def test_every_command_does_in_a_store_what_it_does_in_a_folder(
    call: Call, in_store_session: None, new_log: Settings, object_store: Storage, bucket: str
) -> None:
    environment, root = in_store(new_log, object_store, bucket), f"{bucket}/pts"

    def done(*arguments: str) -> dict[str, Any]:
        found = call([*arguments, "--json"], environment)
        assert found.returncode == 0, (arguments, found.stderr[-3000:])
        told: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
        return told

    def succeeds(*arguments: str) -> str:
        found = call(list(arguments), environment)
        assert found.returncode == 0, (arguments, found.stderr[-3000:])
        return found.stdout

    simulate.run(FEED, new_log)
    succeeds("stream", "--drain")
    log = read_log(new_log.bootstrap_servers)
    assert_lake_equals_log(root, log)

    succeeds("rebuild", "gold.stop_activity")
    succeeds("backfill", "--from", "2020-01-01", "--to", "2030-01-01")
    succeeds("expire")
    succeeds("compact")
    succeeds("replay", "plan")
    succeeds("replay", "build", "again")
    succeeds("replay", "compare", "again")
    done("replay", "promote", "again")
    assert_lake_equals_log(root, log)
    done("replay", "rollback", "again")
    assert done("replay", "verify")["verdict"] == "identical"
    succeeds("quarantine", "list")
    succeeds("quarantine", "redrive", "--reason", "malformed")
    succeeds("report", "7")
    rows = json.loads(succeeds("sql", "SELECT count(*) AS n FROM silver.ship_events", "--engine", "spark", "--json"))
    assert rows
    assert "checks held" in succeeds("verify")
    succeeds("check")
    assert call(["health"], environment).stderr.startswith("pts: heartbeat_seconds"), "no job runs; else all is well"
    assert "silver.ship_events" in succeeds("snapshot")
    assert_lake_equals_log(root, log)


def test_job_that_was_frozen_is_overtaken_and_changes_nothing_when_it_thaws(
    new_log: Settings, object_store: Storage, bucket: str, tmp_path: Path
) -> None:
    """Nor is the secret of the store seen, of which all these processes make use."""
    canary, root = token_hex(16), f"{bucket}/pts"
    secret = tmp_path / "secret"
    secret.write_text(canary)
    secret.chmod(0o600)
    told = object_store.model_dump(exclude={"secret_access_key"}) | {"secret_access_key_file": str(secret)}
    environment = in_store(new_log, Storage.model_validate(told), bucket)
    simulate.run(LONG, new_log)
    logs = [tmp_path / f"{name}.log" for name in ("feed", "first", "second")]
    with (
        watched(new_log.home, {"storage": canary}) as seen,
        process(GOES_ON.argv(), environment, logs[0]) as feed,
        process(["stream"], environment, logs[1]) as first,
    ):
        wait_until(lambda: logs[1].read_text().count('"batch_id"') > 2, logs[1])
        refused = logs[2].with_suffix(".refused")
        with process(["stream"], environment, refused) as early:
            assert early.wait(timeout=120) == 9
        assert "already writes the lake" in refused.read_text()
        first.send_signal(signal.SIGSTOP)
        with process(["stream"], environment, logs[2]) as second:
            wait_until(lambda: logs[2].read_text().count('"batch_id"') > 1, logs[2])
            first.send_signal(signal.SIGCONT)
            assert first.wait(timeout=60) == 9, logs[1].read_text()[-3000:]
            assert "another" in logs[1].read_text().splitlines()[-1].lower()
            before = logs[2].read_text().count('"batch_id"')
            wait_until(lambda: logs[2].read_text().count('"batch_id"') > before, logs[2])
            feed.send_signal(signal.SIGTERM)
            feed.wait(timeout=60)
            second.send_signal(signal.SIGTERM)
            assert second.wait(timeout=120) == 0, logs[2].read_text()[-3000:]
    with process(["stream", "--drain"], environment, logs[2]) as drain:
        assert drain.wait(timeout=180) == 0, logs[2].read_text()[-3000:]
    assert_lake_equals_log(root, read_log(new_log.bootstrap_servers))
    assert any("java" in program for program in seen.programs)
    assert not seen.leaks
    assert not in_files(new_log.home, {"storage": canary}) - {("storage", "secret")}


def test_promotion_that_is_cut_off_after_any_step_is_finished_in_a_store(
    spark: SparkSession,
    shared_session: SparkSession,
    in_store_session: None,
    new_log: Settings,
    object_store: Storage,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    step = request.config.getoption("--kill-every")
    settings = new_log.model_copy(update={"storage": object_store, "lake": f"{bucket}/pts"})
    simulate.run(FEED, new_log)
    drain(spark, settings, WRONG_FLOWS)
    build.run(commands.ReplayBuild(replay_id="fix"), settings)
    compare.run(commands.ReplayCompare(replay_id="fix", expect=("gold.remaining_stops",)), settings)
    saboteur = Saboteur(monkeypatch, *OF_A_SWAP)
    refused = 0
    for _ in saboteur.crashes(lambda: promote.run(commands.ReplayPromote(replay_id="fix"), settings), step):
        if Replays(settings.lake_root).load("fix").under_way:
            with pytest.raises(LakeMismatch, match="pts replay promote fix"):
                check_promotions(settings.lake_root)
            refused += 1
    assert refused * step > 10
    assert_lake_equals_log(settings.lake_root, read_log(new_log.bootstrap_servers))


def commit_often(path: str, options: dict[str, str], writer: int) -> None:
    """Adds rows, each by a commit, as a process does that knows of no other."""
    access.reach_as(options)
    duck.reach(path)
    tables = Tables()
    for number in range(COMMITS):
        rows = pa.table({"id": [writer * COMMITS + number + 1], "colour": ["red"]})
        cursor = duck.cursor()
        cursor.register("rows_to_add", rows)
        files = data_files.write(cursor, "FROM rows_to_add", COLOURS, path)
        delta_rs.commit(tables.newest(path), path, files, (), Transaction(f"writer-{writer}/colours", number))


def test_of_many_writers_no_commit_is_lost_and_none_is_there_twice(bucket: str) -> None:
    lake = Lake(None, f"{bucket}/lake")
    lake.ensure(COLOURS)
    path = lake.path(COLOURS)
    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(commit_often, path, access.options(), writer) for writer in range(WRITERS)]:
            done.result()
    made = [change.transaction for change in TableLog(path).changes(after=0)]
    assert len(made) == len(set(made)) == WRITERS * COMMITS
    with duck.cursor() as cursor:
        ids = [row[0] for row in cursor.execute(f"{lake.rows(COLOURS)} ORDER BY id").fetchall()]
    assert ids == list(range(1, WRITERS * COMMITS + 1))
