"""`pts api` on a real broker, fed by the job: from its messages to a client, through restarts and losses."""

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer
from pipelines.live import topics
from pipelines.settings import Api, Settings
from pipelines.stack import simulate
from pipelines.values import iso_utc
from tests.brokers import drain, empty_log
from tests.integration.pts_process import process, settings_of, wait_until
from tests.integration.topic_deletion import delete_topics
from tests.permissions import permitted_beyond
from tests.ports import unused_ports

NEW = 900_000_042
"""A package that the feed does not have."""


@pytest.fixture(scope="module")
def settings(broker: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Of a log whose reports the job has sent."""
    with empty_log(broker, tmp_path_factory.mktemp("api"), partitions=2) as made:
        made = made.model_copy(update={"api": Api(port=unused_ports()[0], client_requests_per_second=1_000)})
        simulate.run(commands.Simulate(seed=5, packages=40, rate=0), made)
        drain(spark, made)
        yield made


class Served:
    """A running `pts api`."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self._process = process(["api"], settings_of(settings, "lake"), log)
        self._settings = settings
        self._log = log

    def __enter__(self) -> "Served":
        self.pid = self._process.__enter__()
        wait_until(lambda: self.status("/readyz") == 200, self._log, 60)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._process.__exit__(*raised)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self._settings.api.url}{path}", timeout=20)

    def status(self, path: str) -> int:
        try:
            return self.get(path).status_code
        except httpx.TransportError:
            return 0

    def events(self, number: int, seen: str | None, count: int) -> list[dict[str, str]]:
        """So many events; of silence, none."""
        headers = {} if seen is None else {"Last-Event-ID": seen}
        found: list[dict[str, str]] = []
        path = f"{self._settings.api.url}/packages/{number}/events"
        with httpx.stream("GET", path, headers=headers, timeout=30) as answer:
            event: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    event[name] = value
                elif "data" in event:
                    found.append(event)
                    if len(found) == count:
                        break
                    event = {}
                else:
                    event = {}
        return found


def scan(settings: Settings, number: int, stop: int) -> None:
    """Appends a scan of now to the log."""
    now = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    producer = LogProducer(Connection.of(settings))
    value = f"{number},{moment},ARR,IT,,DHL,DE,,Bonn,53113,{stop}"
    producer.append([("ship-events", str(number).encode(), value.encode(), int(now * 1000))])
    producer.flush()


def test_answers_are_the_reports_of_the_table(settings: Settings, tmp_path: Path) -> None:
    rows = LakeReader(settings.lake_root).query("FROM gold.remaining_stops").to_pylist()
    assert len(rows) >= 40
    with Served(settings, tmp_path / "api.log") as served:
        for row in rows:
            found = served.get(f"/packages/{row['tracking_number']}").json()
            assert found["numberOfRemainingStops"] == row["number_of_remaining_stops"]
            assert found["occurredAt"] == (row["occurred_at"] and iso_utc(row["occurred_at"]))
            assert found["eventKafkaOffset"] == row["event_kafka_offset"]
        assert served.status(f"/packages/{NEW}") == 404
        assert permitted_beyond(0o077, settings.home / "api") == {}


def test_client_follows_a_package_through_restarts_and_losses_of_the_store(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    log = tmp_path / "api.log"
    scan(settings, NEW, 1)
    drain(spark, settings)
    with Served(settings, log) as served:
        (first,) = served.events(NEW, None, 1)
        assert json.loads(first["data"])["currentStopId"] == 1
        served.pid.send_signal(signal.SIGKILL)
        served.pid.wait()
    scan(settings, NEW, 2)
    drain(spark, settings)
    with Served(settings, log) as served:
        (second,) = served.events(NEW, first["id"], 1)
        assert json.loads(second["data"])["currentStopId"] == 2
        position = json.loads(second["data"])["position"]
        assert served.status(f"/packages/{NEW}?atLeast={position}") == 200
        served.pid.send_signal(signal.SIGTERM)
        assert served.pid.wait(timeout=60) == 0
    shutil.rmtree(settings.home / "api")
    with Served(settings, log) as served:
        assert served.get(f"/packages/{NEW}").json() == json.loads(second["data"]), "rebuilt from the topic"
        scan(settings, NEW, 3)
        drain(spark, settings)
        (third,) = served.events(NEW, second["id"], 1)
        assert json.loads(third["data"])["currentStopId"] == 3
    assert "Traceback" not in log.read_text()


def test_topic_that_is_created_again_is_known_to_be_another_one(settings: Settings, tmp_path: Path) -> None:
    """Last in this module: it takes the reports away."""
    with Served(settings, tmp_path / "api.log") as served:
        assert served.status(f"/packages/{NEW}") == 200
        delete_topics(settings.bootstrap_servers, "package-reports")
        topics.run(commands.Topics(), settings)
        wait_until(lambda: served.status(f"/packages/{NEW}") == 404, tmp_path / "api.log", 60)
        assert served.status("/readyz") == 200
