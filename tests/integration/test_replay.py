"""History corrected on a real broker, while the feed and the live job go on."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.io.duckdb.reader import LakeReader
from pipelines.settings import Settings
from pipelines.stack import simulate
from pipelines.state.snapshots import Snapshot, snapshot
from tests.brokers import drain, empty_log
from tests.calling import Call
from tests.comparison import Rows, assert_lake_equals_log, expected_rows, in_micros
from tests.frames import in_order
from tests.integration.log_reader import read_log
from tests.integration.pts_process import newest_row, process, settings_of, wait_for, wait_until
from tests.oracle.records import LogRecord
from tests.replay.offline import WRONG_COLUMNS, WRONG_FLOWS

pytestmark = pytest.mark.long


REPORTS = "gold.remaining_stops"
FEED = commands.Simulate(seed=6, packages=1_000, rate=0, count=15_000)
"""So many that some packages are delivered: their reports stay as they are while the feed goes on."""

GOES_ON = FEED.model_copy(update={"rate": 15, "count": 1_000_000, "resume": True})
TOLD = re.compile(r'"batch_id": (\d+)')
EXPECTED = [
    part for name in (*WRONG_COLUMNS, "number_of_remaining_stops") for part in ("--expect", f"{REPORTS}.{name}")
]


@pytest.fixture(scope="module")
def base(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with empty_log(broker, tmp_path_factory.mktemp("replay")) as settings:
        yield settings


@pytest.fixture
def done(call: Call, base: Settings) -> Callable[..., dict[str, Any]]:
    """Calls a command, which must succeed; what it said as JSON."""

    def run(*arguments: str) -> dict[str, Any]:
        found = call([*arguments, "--json"], environment_of(base))
        assert found.returncode == 0, found.stderr[-3000:]
        last: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
        return last

    return run


def environment_of(base: Settings) -> dict[str, str]:
    return settings_of(base, "lake", PTS_REPLAY__MAX_RECORDS_PER_BATCH="4000", PTS_STREAM__TRIGGER_SECONDS="5")


def at_batch(root: str, log: list[LogRecord], batch_id: int) -> tuple[Rows, Rows]:
    """The reports after a consistent batch, and those that the oracle makes of the records up to there."""
    return _at(root, log, snapshot(root, batch_id))


def since(root: str, log: list[LogRecord], batch_id: int) -> tuple[Rows, Rows]:
    """The same after the newest consistent batch, which is that of a promotion or a later one."""
    found = snapshot(root)
    assert found.batch_id >= batch_id
    return _at(root, log, found)


def _at(root: str, log: list[LogRecord], found: Snapshot) -> tuple[Rows, Rows]:
    reader = LakeReader(root, found.versions, found.batch_id)
    offsets = "SELECT unnest(offsets, recursive := true) FROM ops.batches WHERE batch_id = ?"
    ends = {
        (part["kafka_topic"], part["kafka_partition"]): part["end_offset"]
        for part in reader.query(offsets, [found.batch_id]).to_pylist()
    }
    read = [record for record in log if record.offset < ends[record.topic, record.partition]]
    return in_order(in_micros(reader.query(f"FROM {REPORTS}")).to_pylist()), expected_rows(read)[REPORTS]


def await_next_batch(root: str, job_log: Path) -> None:
    """Until the job tells of a batch that is not in the ledger yet. Bringing tables up takes numbers, too."""
    newest = newest_row(Path(root))["batch_id"]
    wait_until(lambda: any(int(told) > newest for told in TOLD.findall(job_log.read_text())), job_log)


def test_bug_is_corrected_rolled_back_and_corrected_again_while_feed_and_live_job_go_on(
    spark: SparkSession,
    base: Settings,
    tmp_path: Path,
    call: Call,
    done: Callable[..., dict[str, Any]],
) -> None:
    """Feed, job, and what is killed are processes."""
    simulate.run(FEED, base)
    environment = environment_of(base)
    settings = base.model_copy(update={"lake": environment["PTS_LAKE"]})
    root, servers = settings.lake_root, base.bootstrap_servers
    drain(spark, settings, WRONG_FLOWS)
    feed_log, job_log, build_log = (tmp_path / f"{name}.log" for name in ("feed", "job", "build"))
    with process(GOES_ON.argv(), environment, feed_log) as feed:
        with process(["stream"], environment, job_log) as job:
            wait_for(job_log, '"batch_id"')
            plan = done("replay", "plan")
            assert {source["source"] for source in plan["sources"]} == {"kafka"}
            with process(["replay", "build", "fix"], environment, build_log) as build:
                wait_for(build_log, '"batch_id"')
                build.send_signal(signal.SIGKILL)
            assert done("replay", "build", "fix")["fence"] == plan["fence"]

            found = done("replay", "compare", "fix", *EXPECTED)
            live, right = at_batch(root, read_log(servers), plan["fence"])
            wrong = [row for row in right if row not in live]
            differing = {
                table["table"]: table["changed"]
                for table in found["tables"]
                if table["live_checksum"] != table["shadow_checksum"]
            }
            assert differing == {REPORTS: len(wrong)}
            assert wrong

            with process(["replay", "promote", "fix"], environment, tmp_path / "promote.log") as promote:
                record = Path(root) / "_shadow" / "fix" / "replay.json"
                wait_until(lambda: '"done_at": null' in record.read_text(), tmp_path / "promote.log")
                job.send_signal(signal.SIGKILL)
                promote.send_signal(signal.SIGKILL)
        refused = call(["stream"], environment)
        assert refused.returncode == 7, refused.stderr
        assert "pts replay promote fix" in refused.stderr
        promoted = done("replay", "promote", "fix")
        live, right = since(root, read_log(servers), promoted["batch_id"])
        assert live == right

        with process(["stream"], environment, job_log) as job:
            await_next_batch(root, job_log)
            back = done("replay", "rollback", "fix")
            live, right = since(root, read_log(servers), back["batch_id"])
            assert live != right

            again = done("replay", "promote", "fix")
            assert f'"batch_id":{again["batch_id"]},' in (Path(root) / "_request.answer").read_text(), "the job did it"
            live, right = since(root, read_log(servers), again["batch_id"])
            assert live == right
            await_next_batch(root, job_log)
            feed.send_signal(signal.SIGTERM)
            feed.wait(timeout=60)
            job.send_signal(signal.SIGTERM)
            assert job.wait(timeout=120) == 0
    drained = call(["stream", "--drain"], environment)
    assert drained.returncode == 0, drained.stderr
    log = read_log(servers)
    assert FEED.count
    assert len(log) > FEED.count
    assert_lake_equals_log(root, log)
    assert call(["verify"], environment).returncode == 0
    assert latest_reports(servers) == {
        row["tracking_number"]: row["current_stop_id"] for row in expected_rows(log)[REPORTS]
    }


def test_log_that_lost_its_beginning_is_replayed_with_what_bronze_kept(
    base: Settings, done: Callable[..., dict[str, Any]]
) -> None:
    """Goes on with the lake of the test before."""
    kept = {record.topic: record for record in read_log(base.bootstrap_servers) if record.offset == 500}
    admin = AdminClient({"bootstrap.servers": base.bootstrap_servers})
    for future in admin.delete_records(
        [TopicPartition(topic, record.partition, record.offset) for topic, record in kept.items()]
    ).values():
        future.result()
    plan = done("replay", "plan")
    assert {source["source"] for source in plan["sources"]} == {"bronze", "kafka"}
    assert done("replay", "verify")["verdict"] == "identical"


def latest_reports(servers: str) -> dict[int, int | None]:
    """What the topic package-reports says last of each package."""
    messages = read_log(servers, ("package-reports",))
    return {int(message.key or b""): json.loads(message.value or b"")["currentStopId"] for message in messages}
