"""What becomes of a task whose command ends, in one way or another. The commands are stand-ins."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, AirflowTaskTimeout

from dags import fleet, pts_operator
from dags.pts_operator import PageLink, PtsOperator
from pipelines import errors
from pipelines.commands import Backfill, ReplayBuild, Verify
from pipelines.processes.pid_lock import holder
from tests.processes.test_parent_death import is_alive
from tests.waiting import becomes

pytestmark = pytest.mark.slow

RUN = SimpleNamespace(dag_id="a_dag", run_id="scheduled__2026-01-01T00:00:00+00:00", task_id="a_task", map_index=-1)
SCHEDULED = SimpleNamespace(schedule="* * * * *")
PID_FILE = "run/tasks/a_dag.scheduled__2026-01-01T00:00:00+00:00.a_task.-1.pid"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTS_HOME", str(tmp_path))


def task(monkeypatch: pytest.MonkeyPatch, script: str) -> PtsOperator:
    """A task whose command is this Python script; its arguments are those of `pts`."""
    monkeypatch.setattr(pts_operator, "pts", lambda: [sys.executable, "-c", script])
    return PtsOperator(task_id="a_task", command=Verify)


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a task leaves for others, by key."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(RUN, "xcom_push", found.__setitem__, raising=False)
    return found


@pytest.fixture(autouse=True)
def _xcom(pushed: dict[str, Any]) -> None:
    pass


def executed(operator: PtsOperator) -> Any:
    return operator.execute(cast("Context", {"ti": RUN}))


def test_json_line_of_the_command_is_the_result_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = "import json, sys; print('a remark'); print(json.dumps(sys.argv[1:])); sys.stderr.write('progress\\n')"

    assert executed(task(monkeypatch, script)) == ["verify", "--json"]
    assert not (tmp_path / PID_FILE).exists()


@pytest.mark.parametrize("error", sorted(errors.PtsError.__subclasses__(), key=attrgetter("exit_code")))
def test_failure_is_the_commands_own_sentence_and_is_retried_where_time_may_help(
    error: type[errors.PtsError], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "pts: warning: PTS_X is no setting.\\npts: The cause, and the cure.\\n"
    script = f"import sys; sys.stderr.write('{said}'); sys.exit({error.exit_code})"

    with pytest.raises(AirflowException, match=rf"ended with code {error.exit_code}: The cause, and the cure\.") as how:
        executed(task(monkeypatch, script))
    time_may_help = {
        errors.BrokerUnavailable,
        errors.LakeUnavailable,
        errors.AnotherWriter,
        errors.StackError,
        errors.NotFound,
        errors.Interrupted,
        errors.Unhealthy,
        errors.AlertFailed,
        errors.ApiUnavailable,
        errors.BoardUnavailable,
        errors.KeysUnavailable,
        errors.JavaEnded,
    }
    assert (how.type is AirflowFailException) == (error not in time_may_help)


def test_what_a_command_says_cannot_steer_the_log_and_of_failures_quotes_no_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MagicMock()
    said = "a\\x1b[2J Could not convert string \\'Paris\\' to INT32"
    operator = task(monkeypatch, f"import sys; sys.stderr.write('{said}\\n'); print('{said}')")
    monkeypatch.setattr(PtsOperator, "log", log)

    executed(operator)
    told = [call.args[0] % call.args[1:] for call in log.info.call_args_list]
    assert told[1:] == [
        "a\ufffd[2J Could not convert string '***' to INT32",
        "a\ufffd[2J Could not convert string 'Paris' to INT32",  # an answer, which has the rows that it is to have
    ]


@pytest.mark.parametrize("code", [0, errors.ExpectationFailed.exit_code])
def test_page_of_the_command_is_linked_as_airflow_shows_it_also_when_the_command_fails(
    code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pushed: dict[str, Any]
) -> None:
    page = {"page": str(tmp_path / "quality" / "run-1" / "index.html")}
    operator = task(monkeypatch, f"import json, sys; print(json.dumps({page!r})); sys.exit({code})")
    with suppress(AirflowFailException):
        pushed["return_value"] = executed(operator)

    assert pushed.pop("return_value") == {"page": "/pages/quality/run-1/index.html"}
    assert pushed == ({"exit_code": code} if code else {})
    assert PageLink().get_link(operator, ti_key=None) == "/pages/quality/run-1/index.html"


def test_command_that_fails_leaves_no_pid_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(AirflowException):
        executed(task(monkeypatch, "raise SystemExit(1)"))
    assert list((tmp_path / "run" / "tasks").iterdir()) == []


def test_task_that_is_not_asked_for_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = task(monkeypatch, "raise SystemExit(1)")
    operator.only_if = False
    with pytest.raises(AirflowSkipException):
        executed(operator)


def test_task_that_fails_for_good_tells_those_on_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ti = SimpleNamespace(**vars(RUN), log_url="http://127.0.0.1:8080/a_task")
    fleet.alert({"ti": ti, "dag": SCHEDULED, "exception": AirflowException("The cause.")})

    (told,) = map(json.loads, (tmp_path / "logs" / "alerts.log").read_text().splitlines())
    assert told["subject"] == "a_dag a_task failed"
    assert told["text"] == f"The cause. Run {RUN.run_id}: {ti.log_url}"


def test_another_fault_of_the_same_task_is_told_and_the_same_one_in_its_next_run_is_not(tmp_path: Path) -> None:
    for day, cause in ((1, "lag_records is 2,000,000."), (2, "lag_records is 3."), (3, "No broker answers.")):
        run = SimpleNamespace(**{**vars(RUN), "run_id": f"scheduled__2026-01-0{day}T00:00:00+00:00"})
        run.log_url = f"http://127.0.0.1:8080/dags/a_dag/runs/{run.run_id}"
        fleet.alert({"ti": run, "dag": SCHEDULED, "exception": AirflowException(cause)})

    told = map(json.loads, (tmp_path / "logs" / "alerts.log").read_text().splitlines())
    assert [alert["text"].partition(" Run ")[0] for alert in told] == [
        "lag_records is 2,000,000.",
        "No broker answers.",
    ]


def test_run_that_has_no_next_one_is_told_each_time_and_so_is_who_waits_for_a_person(tmp_path: Path) -> None:
    for number in (1, 2):
        run = SimpleNamespace(**{**vars(RUN), "run_id": f"control-fix-{number}", "log_url": "http://127.0.0.1:8080"})
        context = {"ti": run, "dag": SimpleNamespace(schedule=None), "exception": AirflowException("The same.")}
        fleet.alert(context)
        fleet.Asked().notify(context)

    told = map(json.loads, (tmp_path / "logs" / "alerts.log").read_text().splitlines())
    assert [alert["subject"] for alert in told] == ["a_dag a_task failed", "a_dag a_task waits for a person"] * 2


def test_replays_name_is_one_that_pts_takes() -> None:
    names = [
        fleet.replay_name(run)
        for run in ("manual__2026-11-22T10:00:00.123+00:00_aB3", "control-fix", "1e5", "-" * 9 + "x" * 99)
    ]
    assert names[:3] == ["manual-2026-11-22t10-00-00-123-00-00-ab3", "control-fix", "run-1e5"]
    assert all(ReplayBuild(replay_id=name) for name in names)


def test_parameters_are_checked_before_anything_runs_and_are_not_tried_again() -> None:
    operator = PtsOperator(task_id="a_task", command=Backfill, parameters={"begin": "2026-01-02", "end": "2026-01-01"})

    with pytest.raises(AirflowFailException, match="an interval ends after it begins"):
        executed(operator)


def test_task_that_is_stopped_ends_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    operator = task(monkeypatch, "import time; time.sleep(60)")

    def stop_it() -> None:
        _wait_for(tmp_path / PID_FILE)
        operator.on_kill()

    stop = threading.Thread(target=stop_it)
    stop.start()

    with pytest.raises(AirflowException, match="was ended by signal 15"):
        executed(operator)
    stop.join()
    assert not (tmp_path / PID_FILE).exists()


def test_task_whose_time_is_up_ends_its_command_even_if_that_does_not_listen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def time_is_up(*_: object) -> None:
        raise AirflowTaskTimeout("time is up")

    def let_time_be_up() -> None:
        _wait_for(tmp_path / PID_FILE)
        os.kill(os.getpid(), signal.SIGALRM)

    monkeypatch.setattr(pts_operator, "PATIENCE_SECONDS", 0.2)
    operator = task(monkeypatch, "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")
    former = signal.signal(signal.SIGALRM, time_is_up)
    alarm = threading.Thread(target=let_time_be_up)
    alarm.start()
    try:
        with pytest.raises(AirflowTaskTimeout):
            executed(operator)
    finally:
        signal.signal(signal.SIGALRM, former)
        alarm.join()
    assert not (tmp_path / PID_FILE).exists()


def test_commands_run_by_the_python_that_a_setting_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pts_operator.pts()[0] == sys.executable
    monkeypatch.setenv("PTS_AIRFLOW__PYTHON", "/opt/pts/.venv/bin/python")
    assert pts_operator.pts()[0] == "/opt/pts/.venv/bin/python"


def test_command_of_a_worker_that_is_killed_ends_and_the_retry_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER], start_new_session=True)
    command = _wait_for(tmp_path / PID_FILE)
    worker.kill()
    worker.wait()

    assert becomes(lambda: not is_alive(command)), "it does not wait for a retry"
    assert executed(task(monkeypatch, "print('\"done\"')")) == "done"


WORKER = """
import os, sys
if os.fork():  # as Airflow's worker does, whose task has a process group of its own
    os.wait()
os.setpgid(0, 0)
from tests.dags import conftest
from dags import pts_operator
from tests.dags.test_pts_operator import RUN, Verify
pts_operator.pts = lambda: [sys.executable, "-c", "import time; time.sleep(60)"]
pts_operator.PtsOperator(task_id="a_task", command=Verify).execute({"ti": RUN})
"""


def _wait_for(pid_file: Path) -> int:
    deadline = time.monotonic() + 60
    while not (found := holder(pid_file)):
        assert time.monotonic() < deadline, "the command did not begin"
        time.sleep(0.02)
    time.sleep(0.3)  # until it is the command itself, which may have something to set up
    return found
