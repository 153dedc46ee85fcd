"""What tools of others see of a job on a real broker: the group's lag, and its metrics."""

import subprocess
import time

import httpx
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines import commands, metrics
from pipelines.io.kafka.connection import Connection
from pipelines.java_runtime import JARS, JAVA
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import live_runner
from pipelines.observability.observers import observers
from pipelines.settings import Lineage, Metrics, Settings
from pipelines.stack import simulate
from pipelines.state.ledger import Ledger, LedgerRow
from tests.exposed import documented, exposed, labels_of, samples
from tests.lineage import events, read_of, versions
from tests.ports import unused_ports


def described(settings: Settings) -> dict[tuple[str, int], tuple[int, int]]:
    """By topic and partition: the group's offset and its lag, as Kafka's own tool tells them."""
    classpath = f"{JARS / 'tools' / '*'}:{JARS / 'kafka' / '*'}"
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    asked = ["--bootstrap-server", settings.bootstrap_servers, "--describe", "--group", settings.kafka.lag_group]
    done = subprocess.run(
        [JAVA, "-cp", classpath, tool, *asked], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    head, *lines = [line.split() for line in done.stdout.splitlines() if line]
    rows = [dict(zip(head, line, strict=False)) for line in lines]
    return {
        (row["TOPIC"], int(row["PARTITION"])): (int(row["CURRENT-OFFSET"]), int(row["LAG"]))
        for row in rows
        if row["GROUP"] == settings.kafka.lag_group
    }


def scraped(settings: Settings, batches: int) -> str:
    """What the job exposes, once it has counted so many batches."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text = httpx.get(f"http://127.0.0.1:{settings.metrics.port}/metrics").text
        if samples(text, metrics.FRESHNESS, "_count")[()] and (
            samples(text, metrics.BATCH_DURATION, "_count")[()] == batches
        ):
            return text
        time.sleep(0.05)
    raise TimeoutError(text)


def assert_metrics_are_the_ledgers(text: str, rows: list[LedgerRow]) -> None:
    assert exposed(text) == documented(metrics.JOB)
    wanted = {name: {frozenset(metric.labels)} for metric in metrics.JOB for name in metric.samples}
    without_replays = {name for name in wanted if not name.startswith("pts_replay_")}
    assert labels_of(text) == {name: wanted[name] for name in without_replays}
    assert samples(text, metrics.RECORDS) == {
        (topic, outcome): sum(getattr(row.counts[topic], outcome) for row in rows)
        for topic in rows[0].counts
        for outcome in metrics.OUTCOMES
    }
    accepted = sum(count.accepted for row in rows for count in row.counts.values())
    assert samples(text, metrics.FRESHNESS, "_count") == {(): accepted}
    assert set(samples(text, metrics.PHASE_DURATION, "_count")) == {(phase,) for phase in metrics.PHASES}
    assert samples(text, metrics.LAST_BATCH) == {(): rows[-1].batch_id}
    assert set(samples(text, metrics.LAG_RECORDS)) == {(part.topic, str(part.partition)) for part in rows[-1].ranges}


def assert_lineage_is_the_ledgers(settings: Settings, rows: list[LedgerRow]) -> None:
    first, *of_batches, last = events(settings.lineage_file)
    assert [first["eventType"], last["eventType"]] == ["START", "COMPLETE"]
    assert len(of_batches) == len(rows)
    for event, row in zip(of_batches, rows, strict=True):
        assert {name: table for name, table in versions(settings.lake_root, event).items() if name in row.tables} == {
            name: state.version for name, state in row.tables.items()
        }
        assert sorted(read_of(event)) == sorted(
            (part.topic, part.partition, part.start, part.end) for part in row.ranges
        )


def test_group_metrics_and_lineage_say_what_the_ledger_does(spark: SparkSession, new_log: Settings) -> None:
    new_log = new_log.model_copy(
        update={"metrics": Metrics(port=unused_ports()[0]), "lineage": Lineage(enabled=True, every_seconds=0)}
    )
    simulate.run(commands.Simulate(seed=3, packages=20, rate=0), new_log)
    command = commands.Stream(drain=True)
    with observers(new_log, command) as watching:
        runner = live_runner(spark, new_log)
        LiveJob(runner, new_log, observers=watching).run(command)
        last = Ledger(runner.lake).last()
        assert last is not None
        rows = [row for row in map(Ledger(runner.lake).row, range(last.batch_id + 1)) if row]
        assert_metrics_are_the_ledgers(scraped(new_log, len(rows)), rows)
    assert_lineage_is_the_ledgers(new_log, rows)
    found = described(new_log)
    expected = {(part.topic, part.partition): (part.end, 0) for part in last.ranges}
    assert found == expected
    producer = Producer(Connection.of(new_log).client_options())
    producer.produce("ship-events", b"x", b"1", partition=1)
    producer.flush()
    offset = expected["ship-events", 1][0]
    assert described(new_log)["ship-events", 1] == (offset, 1)
