"""The job as a process: ended by signals, killed, refused."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from lab.benchmarks.processes import processes
from pipelines import commands, metrics
from pipelines.errors import JavaEnded, LakeUnavailable
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.brokers import empty_log
from tests.calling import Call
from tests.canaries import files_below
from tests.comparison import assert_lake_equals_log
from tests.exposed import documented, exposed
from tests.integration import large_records, too_little_memory
from tests.integration.log_reader import read_log
from tests.integration.pts_process import newest_row, process, pts, settings_of, wait_for, wait_until
from tests.ports import unused_ports

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=6, packages=200, rate=0, count=4_000)


@pytest.fixture(scope="module")
def base(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings on a log that holds a feed."""
    with empty_log(broker, tmp_path_factory.mktemp("process")) as settings:
        simulate.run(FEED, settings)
        yield settings


def test_job_whose_checkpoint_is_lost_goes_on_where_the_ledger_ends(base: Settings, call: Call, tmp_path: Path) -> None:
    """Killed within its second batch, as soon as that has accepted something; under the new one, within its first."""
    environment = settings_of(base, "lost", PTS_STREAM__MAX_RECORDS_PER_BATCH="1500")
    lake, log = base.home / "lost", tmp_path / "job.log"
    with process(["stream"], environment, log) as job:
        wait_until((lake / "silver" / "ship_events" / "_delta_log" / f"{2:020}.json").exists, log)
        job.send_signal(signal.SIGKILL)
    before = newest_row(lake)
    assert before["batch_id"] == 0
    shutil.rmtree(lake / "_checkpoints")
    refused = call(["stream", "--drain"], environment)
    assert refused.returncode == 7
    assert "`pts stream --new-checkpoint`" in refused.stderr
    assert "Traceback" not in refused.stderr
    with process(["stream", "--new-checkpoint"], environment, log) as job:
        wait_until((lake / "_checkpoints" / "live" / "offsets" / "0").exists, log)
        job.send_signal(signal.SIGKILL)
    named = newest_row(lake)
    assert (named["batch_id"], named["checkpoint_batch_id"], named["offsets"]) == (1, -1, ended(before["offsets"]))
    for arguments, code in (["--new-checkpoint"], 2), ([], 0):
        drained = call(["stream", "--drain", *arguments], environment)
        assert drained.returncode == code, drained.stderr
    assert newest_row(lake)["checkpoint_id"] == named["checkpoint_id"]
    assert_lake_equals_log(str(lake), read_log(base.bootstrap_servers))


def ended(ranges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The empty ranges at the end of others."""
    return [part | {"start_offset": part["end_offset"]} for part in ranges]


def test_sigterm_ends_the_job_at_a_batch_boundary_and_a_second_job_is_refused_meanwhile(
    base: Settings, tmp_path: Path
) -> None:
    environment, log = settings_of(base, "ended", PTS_STREAM__MAX_RECORDS_PER_BATCH="1000"), tmp_path / "job.log"
    with process(["stream"], environment, log) as job:
        wait_for(log, '"batch_id": 0')
        second = pts(["stream"], environment)
        assert second.returncode == 9
        assert f"Process {job.pid} already writes the lake" in second.stderr
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=90) == 0
    assert ended_at_a_batch(base.home / "ended", log) == []


def test_job_that_is_stopped_while_it_waits_for_records_says_nothing(base: Settings, tmp_path: Path) -> None:
    port = unused_ports()[0]
    environment, log = settings_of(base, "waiting", PTS_METRICS__PORT=str(port)), tmp_path / "job.log"
    with process(["stream"], environment, log) as job:
        wait_for(log, '"lag_records": 0')
        scrape = httpx.get(f"http://127.0.0.1:{port}/metrics")
        assert exposed(scrape.text) == documented(metrics.JOB)
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=90) == 0
    assert ended_at_a_batch(base.home / "waiting", log) == []


def test_heartbeat_that_cannot_be_written_ends_the_job_at_a_batch_boundary_with_one_sentence(
    base: Settings, tmp_path: Path
) -> None:
    environment, log = settings_of(base, "heartless", PTS_STREAM__MAX_RECORDS_PER_BATCH="500"), tmp_path / "job.log"
    heartbeat = base.home / "heartless" / "_live.heartbeat"
    with process(["stream"], environment, log) as job:
        wait_for(log, '"batch_id": 0')
        while not heartbeat.is_dir():
            heartbeat.unlink(missing_ok=True)
            with suppress(FileExistsError):  # the job was quicker
                heartbeat.mkdir()
        assert job.wait(timeout=90) == LakeUnavailable.exit_code, log.read_text()[-3000:]
    (sentence,) = ended_at_a_batch(base.home / "heartless", log)
    assert sentence.startswith("pts: The heartbeat")


def ended_at_a_batch(lake: Path, log: Path) -> list[str]:
    """What a job said beside its batches, of which the last is the ledger's."""
    lines = log.read_text().splitlines()
    told = [json.loads(line)["batch_id"] for line in lines if line.startswith("{")]
    assert newest_row(lake)["batch_id"] == told[-1]
    return [line for line in lines if not line.startswith("{")]


def test_lake_that_cannot_be_written_is_one_sentence(base: Settings, call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = call(["stream", "--drain"], settings_of(base, "x", PTS_LAKE=str(tmp_path / "file" / "lake")))
    assert refused.returncode == 8
    assert refused.stderr.startswith("pts: The lake")
    assert "Traceback" not in refused.stderr


def java_of(job: subprocess.Popen[bytes]) -> int:
    """Its number, as soon as it has one."""
    while not (found := [each.identity[0] for each in processes().values() if each.parent == job.pid]):
        assert job.poll() is None
    return found[0]


@pytest.mark.parametrize("wait_seconds", [0.0, 2.0])
def test_java_that_ends_while_it_starts_is_one_sentence(base: Settings, tmp_path: Path, wait_seconds: float) -> None:
    log = tmp_path / "job.log"
    with process(["stream"], settings_of(base, "not_started"), log) as job:
        java = java_of(job)
        time.sleep(wait_seconds)
        os.kill(java, signal.SIGKILL)
        assert_says_that_java_ended(job, log)


def test_standby_goes_on_in_the_place_of_a_job_that_was_killed(base: Settings, call: Call, tmp_path: Path) -> None:
    """It says that it stands by when it is warm, by when the job may be at the log's end."""
    environment = settings_of(base, "standby", PTS_STREAM__MAX_RECORDS_PER_BATCH="1500")
    lake, logs = base.home / "standby", [tmp_path / f"{number}.log" for number in range(2)]
    with process(["stream"], environment, logs[0]) as job:
        wait_until((lake / "_live.lock").exists, logs[0])
        with process(["stream", "--standby"], environment, logs[1]) as standby:
            wait_for(logs[1], f"This job stands by: process {job.pid} already writes the lake {lake}.")
            wait_for(logs[0], '"batch_id": 0')
            job.send_signal(signal.SIGKILL)
            simulate.run(FEED.model_copy(update={"seed": 8, "count": 500}), base)
            wait_for(logs[1], '"batch_id"')
            standby.send_signal(signal.SIGTERM)
            assert standby.wait(timeout=60) == 0, logs[1].read_text()
    drained = call(["stream", "--drain"], environment)
    assert drained.returncode == 0, drained.stderr
    assert_lake_equals_log(str(lake), read_log(base.bootstrap_servers))


@pytest.mark.parametrize("is_connected", [False, True])
def test_java_that_ends_before_its_first_answer_is_one_sentence(
    base: Settings, tmp_path: Path, is_connected: bool
) -> None:
    """It has told its port: the job connects to nobody, or waits for an answer."""
    log, home = tmp_path / "job.log", tmp_path / "home"
    folder = home / "tmp"
    with process(["stream"], settings_of(base, "not_answered", PTS_HOME=str(home)), log) as job:
        java = java_of(job)
        os.kill(job.pid, signal.SIGSTOP)
        wait_until(lambda: any(told_ports(folder)), log)
        os.kill(java, signal.SIGSTOP if is_connected else signal.SIGKILL)
        os.kill(job.pid, signal.SIGCONT)
        if is_connected:
            wait_until(lambda: not any(told_ports(folder)), log)
            time.sleep(0.5)
            os.kill(java, signal.SIGKILL)
        assert_says_that_java_ended(job, log)


def told_ports(folder: Path) -> Iterator[Path]:
    """Files in which Java tells PySpark its port: PySpark deletes each as soon as it has read it."""
    return (each for each in files_below(folder) if each.relative_to(folder).match("tmp*/tmp*"))


def assert_says_that_java_ended(job: subprocess.Popen[bytes], log: Path) -> None:
    assert job.wait(timeout=60) == JavaEnded.exit_code, log.read_text()[-3000:]
    *_, last = log.read_text().splitlines()  # after what Spark's launcher may say that outlived its parent for a moment
    assert re.match(r"pts: Spark's Java (was killed|ended by itself)( .*)? while it started", last)


def test_java_that_ends_within_a_batch_is_one_sentence(base: Settings, tmp_path: Path) -> None:
    """That the next start goes on is what the fault `kill-job` shows, which kills Java alone, too."""
    environment, log = settings_of(base, "without_java", PTS_STREAM__MAX_RECORDS_PER_BATCH="500"), tmp_path / "job.log"
    planned = base.home / "without_java" / "_checkpoints" / "live" / "offsets" / "1"
    with process(["stream"], environment, log) as job:
        wait_until(planned.exists, log)
        time.sleep(0.3)
        os.kill(java_of(job), signal.SIGKILL)
        assert job.wait(timeout=60) == JavaEnded.exit_code, log.read_text()[-3000:]
    said = log.read_text()
    assert "pts: Spark's Java was killed during live. Nothing is lost." in said
    assert "leaked" not in said
    assert "Traceback" not in said


def test_java_whose_helper_thread_finds_no_memory_ends(base: Settings) -> None:
    asked = [sys.executable, "-m", too_little_memory.__name__]
    told = subprocess.run(asked, env=settings_of(base, "x"), capture_output=True, text=True, timeout=120)
    assert "ended with 3" in told.stdout, told.stderr[-3000:]


def test_large_records_are_written_within_a_heap_that_is_too_small_for_all_of_them(
    base: Settings, tmp_path: Path
) -> None:
    (tmp_path / "rows").mkdir()
    asked = [sys.executable, "-m", large_records.__name__, str(tmp_path / "rows")]
    told = subprocess.run(asked, env=settings_of(base, "x"), capture_output=True, text=True, timeout=240)
    assert told.stdout.splitlines() == [f"wrote {large_records.COUNT} {large_records.COUNT}"], told.stderr[-3000:]


def test_broker_that_does_not_answer_is_one_sentence(base: Settings, call: Call) -> None:
    nobody = f"127.0.0.1:{unused_ports()[0]}"
    refused = call(["stream", "--drain"], settings_of(base, "x", PTS_KAFKA__BOOTSTRAP_SERVERS=nobody))
    assert refused.returncode == 4
    assert refused.stderr.startswith(f"pts: No Kafka broker answers at {nobody}")


def test_log_that_lost_unread_records_is_refused_with_the_offsets(base: Settings, call: Call) -> None:
    """Last in this module: it takes records from the log, also those that the lake `ended` cannot have read."""
    simulate.run(FEED.model_copy(update={"seed": 7, "count": 1_000}), base)
    ends = end_offsets(Connection(base.bootstrap_servers), ["ship-events"])["ship-events"]
    admin = AdminClient({"bootstrap.servers": base.bootstrap_servers})
    for future in admin.delete_records([TopicPartition("ship-events", n, end) for n, end in ends.items()]).values():
        future.result()
    refused = call(["stream", "--drain"], settings_of(base, "ended"))
    assert refused.returncode == 6
    assert f"begins at offset {ends[0]}" in refused.stderr
    assert "Traceback" not in refused.stderr
