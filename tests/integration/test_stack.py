"""The stack with a real broker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from pipelines import commands, metrics
from pipelines.contracts.topics import TOPICS
from pipelines.errors import BrokerUnavailable, StackError, TopicMismatch
from pipelines.io.kafka import admin, groups, mover
from pipelines.io.kafka.connection import Connection
from pipelines.kafka_security import PREFIX
from pipelines.live import topics
from pipelines.processes.pid_lock import holder
from pipelines.settings import Broker, Kafka, Metrics, Seal, Settings
from pipelines.settings_variables import as_variables, secret_variables
from pipelines.stack import stack
from tests.canaries import in_files, watched
from tests.exposed import documented, exposed
from tests.integration.pts_process import wait_until
from tests.integration.topic_deletion import delete_topics
from tests.permissions import permitted_beyond
from tests.ports import unused_ports
from tests.processes.test_parent_death import is_alive
from tests.waiting import becomes

pytestmark = pytest.mark.integration

PTS = [sys.executable, "-m", "pipelines.cli"]


def pts(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | as_variables(settings)
    return subprocess.run([*PTS, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False)


def silent(_: str) -> None:
    pass


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_detached_stack_comes_up_tells_of_itself_and_goes_down(stack_settings: Settings) -> None:
    api_metrics = unused_ports()[0]
    stack_settings = stack_settings.model_copy(update={"metrics": Metrics(api_port=api_metrics)})
    started = pts(stack_settings, "up", "api", "--detach")
    assert started.returncode == 0, started.stderr
    told = json.loads(pts(stack_settings, "status", "--json").stdout)
    assert told["bootstrap_servers"] == stack_settings.bootstrap_servers
    assert told["services"]["broker"]["state"] == "RUNNING"
    assert becomes(lambda: admin.answers(Connection(stack_settings.bootstrap_servers)), 60)
    assert told["services"]["api"]["state"] == "RUNNING"
    assert f"Starting api at {told['api']}" in started.stdout
    log = Path(told["services"]["api"]["log"])
    wait_until(lambda: is_ready(told["api"]), log)
    assert exposed(httpx.get(f"http://127.0.0.1:{api_metrics}/metrics").text) == documented(metrics.API)

    again = pts(stack_settings, "up", "broker")
    assert (again.returncode, again.stderr.count("\n")) == (StackError.exit_code, 1)
    assert "already runs" in again.stderr

    assert pts(stack_settings, "down").returncode == 0
    assert all(not is_alive(told["services"][name]["pid"]) for name in ("broker", "api"))
    supervisor = (stack_settings.home / "logs" / "supervisor.log").read_text()
    ends = [supervisor.index(said) for said in ("stopped: api", "stopped: broker", "received SIGTERM")]
    assert ends == sorted(ends), "services first: by itself, the supervisor would take a second more for each"
    assert log.read_text() == ""
    assert "Nothing is running" in pts(stack_settings, "down").stdout
    assert permitted_beyond(0o077, stack_settings.home) == {}, "logs and the broker's data are nobody else's"


def of_settings(canaries: Mapping[str, str]) -> dict[str, str]:
    """Variables with a canary in each secret that a stack with a broker of its own may have."""
    inside = {
        "PTS_SPARK__SECRET_CONF": '{{"spark.hadoop.some.secret.key": "{}"}}',
        "PTS_ALERTS__TO": "http://127.0.0.1:1/{}",
        "PTS_AIRFLOW__DATABASE": "postgresql+psycopg2://pts:{}@127.0.0.1:1/airflow",
    }
    given = {variable: inside.get(variable, "{}").format(canary) for variable, canary in canaries.items()}
    return given | {"PTS_STORAGE__ACCESS_KEY_ID": "pts", "PTS_BOARD__USER": "ada"}


OF_BROKERS = {f"{PREFIX}{name}" for name in ("PASSWORD", "KEY_PASSWORD", "CLIENT_SECRET")}
"""Of their canaries sees tests/integration/test_secure_broker.py."""


def test_no_secret_of_any_setting_is_seen_while_a_stack_runs_nor_left_behind(stack_settings: Settings) -> None:
    canaries = {name: f"canary{token_hex(16)}" for name in secret_variables() if name not in OF_BROKERS}
    given = os.environ | as_variables(stack_settings) | of_settings(canaries)

    def said(*arguments: str) -> str:
        done = subprocess.run([*PTS, *arguments], env=given, capture_output=True, text=True, timeout=120, check=False)
        return done.stdout + done.stderr

    with watched(stack_settings.home, canaries) as seen:
        told = [said("up", "api", "board", "--detach")]
        alive = [service for service in stack.services(stack_settings).values() if service.is_alive]
        assert {service.name for service in alive} == {"broker", "api", "board"}, told
        assert in_files(stack_settings.home, canaries) == {(name, f"run/secrets/{name}") for name in canaries}
        asked = (["settings"], ["settings", "--json"], ["status"], ["status", "--json"], ["alert", "A", "word"])
        told += [said(*arguments) for arguments in asked]
        told.append(said("down"))
    assert "could not be delivered" in told[-2] or "Connection refused" in told[-2], told[-2]
    assert [name for name, canary in canaries.items() if canary in "".join(told)] == []
    assert {where for _, where, _ in seen.leaks} <= {"environ"}
    services = {"cli api", "cli board", "kafka.Kafka", "supervisord"}
    assert {each for each in services if any(each in program for program in seen.programs)} == services
    assert [program for _, _, program in seen.leaks if any(each in program for each in services)] == []
    assert in_files(stack_settings.home, canaries) == set()


@pytest.mark.long
def test_stack_that_seals_brings_the_feed_to_the_kept_topics_and_goes_on_with_it(stack_settings: Settings) -> None:
    """Its records are of a time at which intake topics delete them at once."""
    port = unused_ports()[0]
    settings = stack_settings.model_copy(update={"seal": Seal(enabled=True), "metrics": Metrics(seal_port=port)})
    connection = Connection.of(settings)
    intake, kept = (["ship-events-intake", "ship-routes-intake"], ["ship-events", "ship-routes"])
    seen = 0
    for _ in range(2):
        stack.start(["seal", "simulate"], settings, silent)
        log = settings.home / "logs" / "seal.log"
        wait_for_more(connection, kept, seen + 500, log)
        assert {name for name, each in stack.services(settings).items() if each.is_alive} == {
            "broker",
            "seal",
            "simulate",
        }
        assert exposed(httpx.get(f"http://127.0.0.1:{port}/metrics").text) == documented(metrics.SEAL)
        end_service(settings, "simulate")
        wait_until(
            lambda: groups.group_offsets(connection, mover.NAME, intake) == admin.end_offsets(connection, intake), log
        )
        end_service(settings, "seal")
        seen = held(connection, kept)
        stack.stop(settings, silent)
    assert json.loads(pts(settings, "status", "--json").stdout)["services"]["seal"]["state"] == "STOPPED"


def wait_for_more(connection: Connection, topics: list[str], than: int, log: Path) -> None:
    wait_until(lambda: held(connection, topics) > than, log)


def held(connection: Connection, topics: list[str]) -> int:
    return sum(sum(offsets.values()) for offsets in admin.end_offsets(connection, topics).values())


def end_service(settings: Settings, name: str) -> None:
    """As the supervisor ends it."""
    pid = stack.services(settings)[name].pid
    assert pid
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not stack.services(settings)[name].is_alive, settings.home / "logs" / f"{name}.log")
    assert not stack.services(settings)[name].has_failed


@pytest.mark.usefixtures("closed_terminal_ends_processes")
@pytest.mark.parametrize(
    "ending",
    [signal.SIGINT, *(pytest.param(each, marks=pytest.mark.long) for each in (signal.SIGTERM, signal.SIGHUP))],
)
def test_foreground_stack_ends_whole_on_a_signal(ending: signal.Signals, stack_settings: Settings) -> None:
    environment = os.environ | as_variables(stack_settings)
    process = subprocess.Popen([*PTS, "up", "broker"], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "broker: RUNNING" in line:
            break
    pids = [stack.services(stack_settings)["broker"].pid, holder(stack_settings.home / "run" / "supervisor.pid")]

    process.send_signal(ending)

    process.communicate(timeout=60)
    assert process.returncode == 0
    assert all(pid and not is_alive(pid) for pid in pids)


@pytest.mark.long
def test_foreground_stack_says_why_a_service_died_and_stops_the_rest(stack_settings: Settings) -> None:
    with pytest.raises(StackError, match="broker was killed"):
        _run_and_kill_the_broker(stack_settings)
    assert not stack.is_running(stack_settings)


@pytest.mark.long
def test_broker_that_survives_its_supervisor_is_stopped_by_down(stack_settings: Settings) -> None:
    stack.start(["broker"], stack_settings, silent)
    supervisor = holder(stack_settings.home / "run" / "supervisor.pid")
    assert supervisor
    os.kill(supervisor, signal.SIGKILL)
    while holder(stack_settings.home / "run" / "supervisor.pid"):
        time.sleep(0.05)

    orphan = stack.services(stack_settings)["broker"]
    assert orphan.state == "ORPHANED"
    with pytest.raises(StackError, match="pts down"):
        stack.start(["broker"], stack_settings, silent)
    assert stack.stop(stack_settings, silent)

    assert orphan.pid
    assert not is_alive(orphan.pid)
    stack.start(["broker"], stack_settings, silent)
    assert stack.services(stack_settings)["broker"].state == "RUNNING"


def test_port_of_another_broker_is_refused(broker: str, tmp_path: Path) -> None:
    port = int(broker.rpartition(":")[2])

    with pytest.raises(BrokerUnavailable, match="PTS_BROKER__PORT"):
        stack.start(["broker"], Settings(home=tmp_path, broker=Broker(port=port)), silent)


def test_topics_are_created_once_and_a_different_one_is_refused_with_its_difference(stack_settings: Settings) -> None:
    stack.start(["broker"], stack_settings, silent)
    servers = stack_settings.bootstrap_servers
    with pytest.raises(TopicMismatch, match="no topic ship-events, ship-routes, package-reports"):
        topics.check_topics(stack_settings)

    with ThreadPoolExecutor() as pool:
        created = list(pool.map(lambda _: topics.run(commands.Topics(), stack_settings), range(2)))

    assert {name for names in created for name in names} == {topic.name for topic in TOPICS}
    assert topics.run(commands.Topics(), stack_settings) == ()
    topics.check_topics(stack_settings)
    assert admin.end_offsets(Connection(servers), ["ship-events"]) == {"ship-events": dict.fromkeys(range(4), 0)}

    three = stack_settings.model_copy(update={"kafka": Kafka(partitions=3)})
    assert topics.run(commands.Topics(), three) == (), "what exists has the partitions that it has"

    delete_topics(servers, "ship-routes")
    _set_config(servers, "ship-events", "retention.ms", "1000")
    with pytest.raises(TopicMismatch, match=r"retention\.ms=1000 where the contract says -1: set retention\.ms=-1"):
        topics.run(commands.Topics(), stack_settings)
    assert "ship-routes" not in admin.topic_states(Connection(servers), ["ship-routes"])


def _run_and_kill_the_broker(settings: Settings) -> None:
    with stack.running(["broker"], settings, silent) as watch:
        pid = stack.services(settings)["broker"].pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        for _ in watch:
            pass


def _set_config(servers: str, topic: str, name: str, value: str) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": servers})
    for altered in client.incremental_alter_configs([resource]).values():
        altered.result()
    while (
        admin.topic_states(Connection(servers), [topic])[topic].config[name] != value
    ):  # the broker tells of it a little later
        time.sleep(0.05)
