"""What a person and a program see of `pts`: exit codes, one sentence for a known failure, no needless engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import commands, errors
from pipelines.cli import main as cli
from pipelines.cli.common import current_settings
from pipelines.cli.parameters import checked
from pipelines.io.kafka import admin
from pipelines.stack import status
from tests.calling import Pts
from tests.permissions import permitted_beyond


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("sql", "--help"),
        ("status",),
        ("settings",),
        ("sql", "SELECT 1"),
        ("sql", "--at-batch", "0", "SELECT 1"),
        ("snapshot",),
        ("report", "42", "--explain"),
        ("judge", "ship-events", os.devnull),
        ("quarantine", "list"),
        ("quarantine", "show", "--reason", "empty"),
    ],
)
def test_command_that_needs_no_engine_imports_none(arguments: tuple[str, ...], tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipelines.cli", *arguments],
        env={name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
        | {"PTS_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    imported = {
        line.rpartition("|")[2].strip() for line in found.stderr.splitlines() if line.startswith("import time:")
    }
    assert "pipelines.cli" in imported or "typer" in imported
    assert "pyspark" not in imported


@pytest.mark.parametrize(
    ("given", "mask"), [({}, 0o077), ({"PTS_UMASK": "027"}, 0o027), ({"PTS_UMASK": "0022"}, 0o022)]
)
def test_files_are_this_users_alone_unless_a_setting_says_otherwise(
    pts: Pts, given: dict[str, str], mask: int, tmp_path: Path
) -> None:
    assert pts("alert", "A test", home=tmp_path / "home", **given).returncode == 0

    assert permitted_beyond(mask, tmp_path) == {}
    assert (tmp_path / "home" / "logs" / "alerts.log").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.mark.parametrize("umask", ["rw-r--r--", "99", "0o77"])
def test_umask_that_is_none_is_refused(pts: Pts, umask: str, tmp_path: Path) -> None:
    found = pts("status", home=tmp_path, PTS_UMASK=umask)
    assert found.returncode == errors.InvalidInput.exit_code
    assert "PTS_UMASK" in found.stderr


def test_failure_quotes_no_rows_and_what_was_given_is_quoted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, told in ((errors.LakeUnavailable, "***"), (errors.InvalidInput, "Paris\ufffd")):
        with pytest.raises(SystemExit):
            _failing_main(monkeypatch, kind("Could not convert string 'Paris\x1b'\n to INT32"))
        assert capsys.readouterr().err == f"pts: Could not convert string '{told}'  to INT32\n"


def test_known_failure_is_one_sentence_and_its_exit_code(pts: Pts, tmp_path: Path) -> None:
    found = pts("report", "0", home=tmp_path)

    assert found.returncode == errors.InvalidInput.exit_code
    assert found.stderr == "pts: tracking_number: Input should be greater than 0.\n"


@pytest.mark.parametrize("arguments", [("snapshot",), ("sql", "--at-batch", "0", "SELECT 1"), ("report", "42")])
def test_question_to_a_lake_without_tables_is_one_sentence(
    pts: Pts, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    found = pts(*arguments, home=tmp_path)

    assert found.returncode == errors.NotFound.exit_code
    assert found.stderr == f"pts: There are no tables at {tmp_path}/lake yet: `pts stream` creates them.\n"


def test_unreachable_broker_is_one_sentence(pts: Pts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "TIMEOUT_SECONDS", 0.2)
    found = pts("topics", home=tmp_path, PTS_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:1")

    assert found.returncode == errors.BrokerUnavailable.exit_code
    assert found.stderr.startswith("pts: No Kafka broker answers at 127.0.0.1:1.")
    assert found.stderr.count("\n") == 1


def test_value_that_does_not_fit_names_its_variable(pts: Pts, tmp_path: Path) -> None:
    found = pts("status", home=tmp_path, PTS_BROKER__PORT="many")

    assert found.returncode == errors.InvalidInput.exit_code
    assert "PTS_BROKER__PORT" in found.stderr
    assert "Traceback" not in found.stderr


def test_what_a_command_starts_inherits_no_setting_but_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"PTS_UMASK": "027", "PTS_HOME": str(tmp_path), "PTS_ALERTS__TO": "https://x/hunter2", "pts_lake": "/x"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    before = os.umask(0o077)
    try:
        current = current_settings()
    finally:
        os.umask(before)
    assert current.alerts.address() == "https://x/hunter2"
    assert {name: value for name, value in os.environ.items() if name.upper().startswith("PTS_")} == {
        "PTS_UMASK": "027"
    }


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("PTS_KAFKA__BOOTSTRAP_SERVER", "PTS_KAFKA__BOOTSTRAP_SERVERS"), ("PTS_HOMES", "PTS_HOME")],
)
def test_misspelt_variable_is_named_with_the_one_that_was_meant(
    pts: Pts, variable: str, meant: str, tmp_path: Path
) -> None:
    found = pts("settings", home=tmp_path, **{variable: "x"})

    assert f"{variable} is no setting; {meant} is" in found.stderr


@pytest.mark.parametrize("variable", ["PTS_SPARK__CONF", "PTS_SPARK"])
def test_variable_that_sets_a_whole_group_is_no_misspelling(pts: Pts, variable: str, tmp_path: Path) -> None:
    assert pts("settings", home=tmp_path, **{variable: "{}"}).stderr == ""


def test_settings_say_where_each_value_came_from(pts: Pts, tmp_path: Path) -> None:
    lines = json.loads(pts("settings", "--json", home=tmp_path, PTS_BROKER='{"port": 1234}').stdout)

    found = {line["name"]: (line["value"], line["source"]) for line in lines}
    assert found["PTS_HOME"] == (str(tmp_path), "environment")
    assert found["PTS_BROKER__PORT"] == (1234, "environment")
    assert found["PTS_KAFKA__PARTITIONS"] == (4, "default")
    assert all(line["description"] for line in lines)


def test_status_of_a_home_where_nothing_ever_ran_is_stopped(pts: Pts, tmp_path: Path) -> None:
    found = json.loads(pts("status", "--json", home=tmp_path, PTS_BROKER__PORT="1234").stdout)

    assert found["bootstrap_servers"] == "127.0.0.1:1234"
    assert found["lake"] == str(tmp_path / "lake")
    assert found["airflow"] == "http://127.0.0.1:8080"
    assert found["api"] == "http://127.0.0.1:8000"
    assert found["board"] == "http://127.0.0.1:8010"
    assert found["board_metrics"] == "http://127.0.0.1:8010/metrics"
    assert not found.keys() & {"stream_metrics", "api_metrics", "sql_metrics", "seal_metrics"}
    assert found["sql"] == "jdbc:hive2://127.0.0.1:10000"
    assert {name: service["state"] for name, service in found["services"].items()} == {
        "broker": "STOPPED",
        "stream": "STOPPED",
        "simulate": "STOPPED",
        "api": "STOPPED",
        "board": "STOPPED",
        "sql": "STOPPED",
        "airflow-api-server": "STOPPED",
        "airflow-dag-processor": "STOPPED",
        "airflow-scheduler": "STOPPED",
    }


def test_status_says_where_metrics_and_documentation_are(
    pts: Pts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site" / "index.html"
    monkeypatch.setattr(status, "SITE", site)
    ports = {
        "PTS_METRICS__PORT": "9464",
        "PTS_METRICS__API_PORT": "9465",
        "PTS_METRICS__SQL_PORT": "9466",
        "PTS_METRICS__SEAL_PORT": "9467",
    }
    assert "documentation: " not in pts("status", home=tmp_path).stdout
    site.parent.mkdir()
    site.touch()
    lines = pts("status", home=tmp_path, **ports).stdout.splitlines()
    assert {
        "stream_metrics: http://127.0.0.1:9464/metrics",
        "api_metrics: http://127.0.0.1:9465/metrics",
        "sql_metrics: http://127.0.0.1:9466/metrics",
        "seal_metrics: http://127.0.0.1:9467/metrics",
        f"documentation: file://{site}",
    } <= set(lines)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("90", 90), ("0.5s", 0.5)])
def test_duration_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert checked(commands.Simulate, duration_seconds=text).duration_seconds == seconds


@pytest.mark.parametrize("text", ["", "s", "3x", "-1s", "1h30m"])
def test_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidInput, match="no duration"):
        checked(commands.Simulate, duration_seconds=text)


def _failing_main(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    def fail(**_: object) -> None:
        raise failure

    monkeypatch.setattr(cli, "app", fail)
    cli.main()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_ctrl_c_exits_130_without_a_traceback_also_within_a_query(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    with pytest.raises(SystemExit) as stopped:
        _failing_main(monkeypatch, failure)
    assert stopped.value.code == 130


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="a defect"):
        _failing_main(monkeypatch, RuntimeError("a defect"))


def test_defect_is_told_with_its_traceback_and_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("Could not convert string 'Paris\x1b[2J' to INT32")
    except ValueError as error:
        cli.tell_of_defect(type(error), error, error.__traceback__)
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last):\n")
    assert "ValueError: Could not convert string '***' to INT32\n" in told


def test_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        _failing_main(monkeypatch, ZeroDivisionError())


def test_reader_that_closes_the_pipe_is_no_error_worth_a_word(tmp_path: Path) -> None:
    command = f"{sys.executable} -m pipelines.cli settings | true"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)

    assert found.stderr == ""
