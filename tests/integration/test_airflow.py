"""Airflow with its scheduler and its API, commanding the real stack."""

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.contracts.control import PTS_CONTROL
from pipelines.graph import FLOWS, Flow
from pipelines.io.duckdb.reader import LakeReader
from pipelines.live import topics
from pipelines.processes import airflow
from pipelines.processes.pid_lock import holder
from pipelines.processes.supervisor import NICE
from pipelines.replay import build
from pipelines.settings import Airflow, Alerts, Settings, Spark
from pipelines.stack import simulate, stack
from pipelines.state.heartbeat import last_beat
from tests.brokers import drain, embedded
from tests.canaries import in_files, watched
from tests.comparison import assert_lake_equals_log
from tests.integration import pts_process
from tests.integration.airflow_api import MOST_SECONDS, Api, password_in
from tests.integration.log_reader import read_log
from tests.integration.pts_process import SHORT_LIVED, settings_of
from tests.permissions import permitted_beyond
from tests.ports import unused_ports
from tests.waiting import becomes
from tests.window_bug import with_bug

FEED = commands.Simulate(seed=3, packages=150, rate=0, count=3_000, start=datetime(2026, 1, 1, 6, tzinfo=UTC))
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
BEFORE_THE_ANSWER = {"plan", "build", "compare", "approve"}
WINDOWS = ("gold.stop_activity", "gold.busiest_stops", "gold.carrier_throughput")
DAG_IDS = {
    *("backfill_windows", "check_quality", "compact", "renew_certificates", "replay", "replay_requests", "verify_log"),
    "watch_stream",
}
ORDER = ("--max-active-runs", "1", "--run-backwards")

CANARIES = {name: f"canary{token_hex(16)}" for name in ("alerts", "spark", "viewer", "operator", "approver")}
"""Secrets of the stack, and passwords of people."""

KEPT = {("alerts", "run/secrets/PTS_ALERTS__TO"), ("spark", "run/secrets/PTS_SPARK__SECRET_CONF")}
"""Where secrets are that were given by variables."""

PEOPLE = {"viewer": "Viewer", "operator": "Operator", "approver": "Approver"}


@pytest.fixture(scope="module")
def alerts() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """The port of a webhook whose path is a secret, and what it is told."""
    told: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == f"/{CANARIES['alerts']}":
                told.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port, told
        server.shutdown()


@pytest.fixture(scope="module")
def settings(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, alerts: tuple[int, list[dict[str, str]]]
) -> Iterator[Settings]:
    """A stack with Airflow, on a lake in whose windows every count is wrong."""
    secret_conf = {"spark.hadoop.fs.s3a.secret.key": CANARIES["spark"]}
    before = os.umask(0o077)  # as `pts` has it
    made = embedded(tmp_path_factory.mktemp("airflow")).model_copy(
        update={
            "airflow": Airflow(port=unused_ports()[0]),
            "alerts": Alerts.model_validate({"to": f"http://127.0.0.1:{alerts[0]}/{CANARIES['alerts']}"}),
            "spark": Spark.model_validate({"master": "local[2]", "conf": SHORT_LIVED, "secret_conf": secret_conf}),
        }
    )
    stack.start(["broker"], made, lambda _: None)
    topics.run(commands.Topics(), made)
    simulate.run(FEED, made)
    drain(spark, made, with_bug(FLOWS))
    yield made
    stack.stop(made, lambda _: None)
    os.umask(before)
    said = (made.home / "logs" / "supervisor.log").read_text()
    assert "killing" not in said, "each service ends within the time that it is given"


@pytest.fixture(scope="module")
def password(settings: Settings) -> str:
    """The administrator's; from here on, Airflow runs."""
    said: list[str] = []
    stack.start(["airflow"], settings, said.append)
    return password_in(said)


@pytest.fixture(scope="module")
def api(settings: Settings, password: str) -> Api:
    return Api.of(settings, password)


@pytest.fixture(scope="module")
def people(settings: Settings, api: Api) -> dict[str, Api]:
    """The API as somebody of each role sees it."""
    for name, role in PEOPLE.items():
        api.make(name, role, CANARIES[name])
    return {name: Api.of(settings, CANARIES[name], name) for name in PEOPLE}


def ask(settings: Settings, name: str, *expect: str) -> None:
    """Sends a message that asks for a replay, in a transaction: the topic then ends with what is no message."""
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "transactional.id": "a release"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(PTS_CONTROL.name, json.dumps({"requestId": name, "dryRun": False, "expect": expect}))
    producer.commit_transaction(30)


def build_here(settings: Settings, replay_id: str, spark: SparkSession, flows: Sequence[Flow] = FLOWS) -> None:
    """A replay whose task finds it built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "spark_job", lambda *_: nullcontext(spark))
        build.run(commands.ReplayBuild(replay_id=replay_id), settings, flows)


def kill_scheduler_in_mid_task(settings: Settings, task: str) -> None:
    """With SIGKILL, and all that it started; the task's command must end by itself."""
    tasks, deadline = settings.home / "run" / "tasks", time.monotonic() + 120
    while not (running := [path for path in tasks.glob(f"{task}*.pid") if holder(path)]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    scheduler = stack.services(settings)["airflow-scheduler"].pid
    assert scheduler
    os.killpg(scheduler, signal.SIGKILL)
    assert becomes(lambda: holder(running[0]) is None, seconds=60), "the command ends before anybody starts anything"
    assert becomes(lambda: not stack.services(settings)["airflow-scheduler"].is_alive, seconds=60)


def pts(settings: Settings, *arguments: str) -> str:
    """What a command says. It must succeed."""
    done = pts_process.pts([*arguments], settings_of(settings, "lake"))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def said_by(settings: Settings, *arguments: str) -> str:
    """All that a command says, whether it succeeds or not."""
    done = pts_process.pts([*arguments], settings_of(settings, "lake"))
    assert done.stdout
    return done.stdout + done.stderr


def all_secrets(settings: Settings, password: str) -> dict[str, str]:
    """Every secret of this stack, by a name."""
    keys = json.loads((airflow.home(settings) / "secrets.json").read_text())
    return {**CANARIES, "admin": password, **{f"AIRFLOW__{name}": key for name, key in keys.items()}}


def test_nobody_enters_without_the_password(settings: Settings, api: Api) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        Api.of(settings, "admin")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        replace(api, token="").call("/api/v2/dags")


def test_who_works_in_batches_comes_after_who_answers(settings: Settings, api: Api) -> None:
    priorities = {name: _priority(each.pid) for name, each in stack.services(settings).items() if each.pid}
    assert priorities["airflow-scheduler"] == priorities["airflow-api-server"] + int(NICE[-1])
    assert priorities["broker"] == priorities["airflow-api-server"]


def _priority(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_all_dags_are_there_without_an_error_and_without_examples(api: Api) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while len(found := api.call("/api/v2/dags")["dags"]) < len(DAG_IDS) and time.monotonic() < deadline:
        time.sleep(1)

    assert {dag["dag_id"] for dag in found} == DAG_IDS
    assert all(dag["fileloc"].startswith(str(airflow.DAGS)) for dag in found)
    assert api.call("/api/v2/importErrors")["total_entries"] == 0


def test_requests_that_write_at_once_are_all_answered(api: Api) -> None:
    def pause_and_resume(_: int) -> None:
        for is_paused in (True, False):
            api.call("/api/v2/dags/compact", {"is_paused": is_paused}, "PATCH")

    with ThreadPoolExecutor(4) as people:
        list(people.map(pause_and_resume, range(50)))  # one that is not answered in 30 s is an error
    assert api.call("/api/v2/dags/compact")["is_paused"] is False


def test_windows_that_are_wrong_fail_the_check_whose_page_shows_it_to_those_who_are_logged_in(
    settings: Settings, api: Api, password: str, alerts: tuple[int, list[dict[str, str]]]
) -> None:
    with watched(settings.home, all_secrets(settings, password)) as seen:
        run = api.run("check_quality", tables=["gold.stop_activity"])
    said = api.result(run, "check_quality")

    assert seen.leaks == set()
    # Not the API server, which writes its title over both.
    for program in ("supervisord", "kafka.Kafka", "airflow scheduler", "airflow dag-processor", "check --table"):
        assert [each for each in seen.programs if program in each], f"{program} is looked at: {seen.programs}"

    assert run["state"] == "failed"
    assert said["outcome"] == "failed"
    assert b"<html" in api.fetch(said["page"])
    with pytest.raises(urllib.error.HTTPError, match="401"):
        replace(api, token="").fetch(said["page"])
    with pytest.raises(urllib.error.HTTPError, match="404"):
        api.fetch("/pages/quality/../airflow/secrets.json")
    assert "check_quality check_quality failed" in {alert["subject"] for alert in alerts[1]}


def test_what_was_written_is_this_users_alone(settings: Settings, api: Api) -> None:
    """Lake, broker, logs of services and tasks, databases, pages: after all of the above."""
    assert list((settings.home / "airflow" / "logs").glob("dag_id=check_quality/**/*.log"))
    assert list(settings.quality_pages.rglob("*.html"))
    assert permitted_beyond(0o077, settings.home) == {}


def test_secrets_are_in_their_own_files_alone_and_on_no_page(
    settings: Settings, api: Api, password: str, people: dict[str, Api]
) -> None:
    canaries = all_secrets(settings, password)
    keys = {(name, "airflow/secrets.json") for name in canaries if name.startswith("AIRFLOW__")}
    assert in_files(settings.home, canaries) == KEPT | keys

    (run,) = api.runs("check_quality", "manual")
    names = {"dag_id": "check_quality", "dag_run_id": run["dag_run_id"], "task_id": "check_quality"}
    names |= {"map_index": "-1", "try_number": "1", "task_try_number": "1", "xcom_key": "return_value"}
    for person in (people["viewer"], people["operator"]):
        pages = person.pages(names)
        assert len(pages) > 40
        assert person.refusal("/api/v2/dags") is None, "it was not logged out on the way"
        assert b"replay" in pages["/api/v2/dags"]
        assert {
            (name, path) for path, text in pages.items() for name, it in canaries.items() if it.encode() in text
        } == set()
    for arguments in (("settings",), ("settings", "--json"), ("status",), ("status", "--json"), ("health", "--json")):
        said = said_by(settings, *arguments)
        assert [name for name, canary in canaries.items() if canary in said] == []


def test_viewers_look_operators_start_and_approvers_approve(api: Api, people: dict[str, Api]) -> None:
    run: dict[str, Any] = {"logical_date": None, "conf": {}}
    replay = "/api/v2/dags/replay"
    detail = f"{replay}/dagRuns/none/taskInstances/approve/-1/hitlDetails"
    answer = {"chosen_options": ["Approve"], "params_input": {}}
    passed_over = {"new_state": "success"}
    asked: dict[str, tuple[str, dict[str, Any] | None, str]] = {
        "look at replays": (replay, None, "GET"),
        "start a replay": (f"{replay}/dagRuns", run, "POST"),
        "approve": (detail, answer, "PATCH"),
        "pass over the approval": (f"{replay}/dagRuns/none/taskInstances/approve", passed_over, "PATCH"),
        "run its tasks again": (f"{replay}/clearTaskInstances", {"dry_run": True}, "POST"),
        "end a run": (f"{replay}/dagRuns/none", {"state": "success"}, "PATCH"),
        "read connections": ("/api/v2/connections", None, "GET"),
        "read variables": ("/api/v2/variables", None, "GET"),
        "read the configuration": ("/api/v2/config", None, "GET"),
        "make people": ("/auth/fab/v1/users", {}, "POST"),
    }
    api.call(replay, {"is_paused": True}, "PATCH")  # what is started, waits
    try:
        may = {
            name: {what for what, (path, body, method) in asked.items() if person.refusal(path, body, method) != 403}
            for name, person in people.items()
        }
    finally:
        for waiting in api.runs("replay", "manual"):
            api.fetch(f"{replay}/dagRuns/{waiting['dag_run_id']}", method="DELETE")
        api.call(replay, {"is_paused": False}, "PATCH")
    assert may == {
        "viewer": {"look at replays"},
        "operator": {"look at replays", "start a replay"},
        "approver": {"look at replays", "approve"},
    }


def test_passwords_cannot_be_guessed_at_speed_and_pages_are_in_no_foreign_frame(
    settings: Settings,
    api: Api,
    people: dict[str, Api],  # who would be hindered
) -> None:
    codes = []
    for number in range(12):
        with pytest.raises(urllib.error.HTTPError) as refused:
            Api.of(settings, f"guess {number}")
        codes.append(refused.value.code)
    assert set(codes) <= {401, 429}
    assert codes.count(401) <= 2 * 5, "five in a window, and one of an earlier login may end between them"
    with urllib.request.urlopen(f"{api.url}/auth/login/", timeout=30) as form:
        assert form.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in form.headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        api.fetch("/pages/quality/%00.html")


@pytest.mark.long
def test_backfill_over_three_days_mends_the_windows_and_the_log_proves_it(settings: Settings, api: Api) -> None:
    span = "SELECT min(window_start)::DATE::VARCHAR AS first, max(window_start)::DATE::VARCHAR AS last FROM {}"
    (days,) = LakeReader(settings.lake_root).query(span.format("gold.stop_activity")).to_pylist()
    assert DAYS[0] == days["first"] < days["last"] <= DAYS[-1], "the feed is of these days"

    interval = ("--from-date", DAYS[0], "--to-date", DAYS[-1])
    pts(settings, "airflow", "backfill", "create", "--dag-id", "backfill_windows", *interval, *ORDER)

    runs = api.finished("backfill_windows", "backfill", len(DAYS))
    assert [(run["logical_date"][:10], run["state"]) for run in runs] == [(day, "success") for day in reversed(DAYS)]
    changed = [sum(table["added_count"] for table in api.result(run, "backfill_windows")) for run in runs]
    assert sum(changed) > 0

    again = ("backfill", "--from", DAYS[0], "--to", "2026-01-04", "--dry-run", "--json")
    assert all(not table["added_count"] + table["removed_count"] for table in json.loads(pts(settings, *again)))
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))

    verified = api.run("verify_log")
    assert verified["state"] == "success"
    assert api.result(verified, "verify_log")["verdict"] == "identical"


@pytest.mark.long
def test_all_that_watches_and_keeps_order_succeeds_beside_the_live_job(settings: Settings, api: Api) -> None:
    stack.start(["stream"], settings, lambda _: None)
    began = datetime.now(UTC)
    assert becomes(lambda: (last_beat(settings.lake_root) or {"at": began})["at"] > began, seconds=180)

    assert {dag_id: api.run(dag_id)["state"] for dag_id in ("watch_stream", "compact", "check_quality")} == {
        "watch_stream": "success",
        "compact": "success",
        "check_quality": "success",
    }


@pytest.mark.long
def test_replay_only_plans_unless_it_is_told_otherwise(api: Api) -> None:
    run = api.run("replay")

    assert run["state"] == "success"
    assert {name: state for name, state in api.states(run).items() if state != "skipped"} == {"plan": "success"}
    assert api.result(run, "plan")["sources"]


@pytest.mark.long
def test_replay_that_a_message_asks_for_survives_a_killed_scheduler_and_is_promoted_when_a_person_approves(
    settings: Settings, api: Api
) -> None:
    ask(settings, "fix")
    ask(settings, "fix")
    for _ in range(2):
        assert api.run("replay_requests")["state"] == "success"
    (run,) = api.runs("replay", like="control-fix")
    record = Path(settings.lake_root) / "_shadow" / "control-fix" / "replay.json"
    assert becomes(record.exists, seconds=120), "the replay has begun"
    kill_scheduler_in_mid_task(settings, f"replay.{run['dag_run_id']}.build")
    stack.start(["airflow"], settings, lambda _: None)

    detail = api.asked(run)
    assert "identical" in detail["body"]
    assert "| gold.remaining_stops |" in detail["body"]
    api.answer(run, "Approve")
    (run,) = api.finished("replay", like="control-fix")
    states = api.states(run)
    assert run["state"] == "success", states
    assert states.pop("roll_back") == "skipped"
    assert set(states.values()) == {"success"}
    promoted = api.result(run, "promote")
    rows = LakeReader(settings.lake_root).query(
        "SELECT batch_id, replay_id FROM ops.batches WHERE replay_id IS NOT NULL"
    )
    assert rows.to_pylist() == [{"batch_id": promoted["batch_id"], "replay_id": "control-fix"}]


@pytest.mark.long
def test_replay_that_a_person_rejects_changes_nothing(
    settings: Settings, api: Api, people: dict[str, Api], spark: SparkSession
) -> None:
    build_here(settings, "control-no", spark)
    ask(settings, "no")
    assert api.run("replay_requests")["state"] == "success"
    (run,) = api.runs("replay", like="control-no")
    api.asked(run)
    for name in ("viewer", "operator"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            people[name].answer(run, "Approve")
    people["approver"].answer(run, "Reject")
    (run,) = api.finished("replay", like="control-no")

    assert run["state"] == "success"
    assert {state for name, state in api.states(run).items() if name not in BEFORE_THE_ANSWER} == {"skipped"}
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))


@pytest.mark.long
def test_replay_that_is_wrong_and_was_approved_all_the_same_is_rolled_back(
    settings: Settings, api: Api, spark: SparkSession, alerts: tuple[int, list[dict[str, str]]]
) -> None:
    build_here(settings, "control-bad", spark, with_bug(FLOWS))  # every window counts one too many
    ask(settings, "bad", *WINDOWS)
    assert api.run("replay_requests")["state"] == "success"
    (run,) = api.runs("replay", like="control-bad")
    assert "declared" in api.asked(run)["body"]
    api.answer(run, "Approve")
    (run,) = api.finished("replay", like="control-bad")

    states = api.states(run)
    assert {name: states[name] for name in ("promote", "verify", "check", "record", "roll_back")} == {
        "promote": "success",
        "verify": "failed",
        "check": "upstream_failed",
        "record": "upstream_failed",
        "roll_back": "success",
    }
    assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))
    told = [alert["subject"] for alert in alerts[1] if "control-bad" in alert["text"]]
    assert told == ["replay approve waits for a person", "replay verify failed"]
