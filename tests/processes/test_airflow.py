"""The environment of the embedded Airflow."""

import shlex
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from pipelines.processes import airflow
from pipelines.settings import Airflow, Health, Settings
from tests.ports import unused_ports


def told(environment: dict[str, str], name: str) -> str:
    """What Airflow learns by its command."""
    command = shlex.split(environment[f"AIRFLOW__{name}_CMD"])
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_keys_are_made_once_and_nobody_else_can_read_them(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    first, second = airflow.environment(settings, {}), airflow.environment(settings, {})

    assert first == second
    other = airflow.environment(Settings(home=tmp_path / "other"), {})
    for name in ("CORE__FERNET_KEY", "API__SECRET_KEY", "API_AUTH__JWT_SECRET"):
        assert len(told(first, name)) >= 32
        assert told(first, name) != told(other, name)
        assert f"AIRFLOW__{name}" not in first, "every task would inherit it"
        assert told(first, name) not in str(first)
    assert [path.name for path in airflow.home(settings).iterdir()] == ["secrets.json"]
    assert (airflow.home(settings) / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert airflow.home(settings).stat().st_mode & 0o777 == 0o700


def test_another_airflow_of_the_same_user_is_left_alone(tmp_path: Path) -> None:
    theirs = {"AIRFLOW_HOME": "/theirs", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://theirs", "PTS_HOME": "/x"}
    found = airflow.environment(Settings(home=tmp_path), theirs | {"AIRFLOW__SMTP__SMTP_HOST": "mail"})

    assert found["AIRFLOW_HOME"] == str(tmp_path / "airflow")
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == f"sqlite:///{tmp_path}/airflow/airflow.db?timeout=60"
    assert found["PTS_HOME"] == str(tmp_path)
    assert found["AIRFLOW__SMTP__SMTP_HOST"] == "mail"
    assert found["PYTHONPATH"] == str(airflow.LOCAL_SETTINGS)


def test_one_setting_names_another_database(tmp_path: Path) -> None:
    address = "postgresql+psycopg2://pts:hunter2@db/airflow"
    settings = Settings(home=tmp_path, airflow=Airflow.model_validate({"database": address}))

    found = airflow.environment(settings, {"PTS_AIRFLOW__DATABASE": "another"})
    assert told(found, airflow.SQL_ALCHEMY_CONN) == address
    assert (airflow.home(settings) / "database.json").stat().st_mode & 0o777 == 0o600
    assert "another" not in found.values()
    assert [name for name, value in found.items() if "hunter2" in value] == ["PTS_AIRFLOW__DATABASE"], (
        "services are started with settings whose secrets are in files"
    )


def test_it_listens_on_the_loopback_interface_alone_and_has_no_examples(tmp_path: Path) -> None:
    found = airflow.environment(Settings(home=tmp_path, airflow=Airflow(port=1234)), {})

    assert (found["AIRFLOW__API__HOST"], found["AIRFLOW__API__PORT"]) == ("127.0.0.1", "1234")
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:1234/execution/"
    assert found["AIRFLOW__CORE__LOAD_EXAMPLES"] == "False"
    assert "Simple" not in found["AIRFLOW__CORE__AUTH_MANAGER"]


def test_it_may_listen_elsewhere_and_its_tasks_still_reach_it(tmp_path: Path) -> None:
    for host, reached in (("0.0.0.0", "127.0.0.1"), ("10.0.0.7", "10.0.0.7")):
        found = airflow.environment(Settings(home=tmp_path, airflow=Airflow(host=host)), {})
        assert found["AIRFLOW__API__HOST"] == host
        assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == f"http://{reached}:8080/execution/"


def test_airflow_that_nobody_started_is_not_well() -> None:
    assert not airflow.is_healthy(Settings(airflow=Airflow(port=unused_ports()[0])))


def test_loopback_is_reached_without_a_proxy_and_only_own_modules_are_found(tmp_path: Path) -> None:
    found = airflow.environment(Settings(home=tmp_path), {"http_proxy": "http://proxy:1", "PYTHONPATH": "/theirs"})

    assert {"127.0.0.1", "localhost"} <= set(found["no_proxy"].split(","))
    assert found["PYTHONPATH"] == str(airflow.LOCAL_SETTINGS)


def test_airflow_that_starts_no_task_is_told_of(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, health=Health(airflow_task_seconds=60))
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert airflow.seconds_without_a_task(settings, now) is None, "there is no database"
    assert "database cannot be read" in (airflow.idle(settings) or "")

    airflow.environment(settings, {})
    with sqlite3.connect(airflow.home(settings) / "airflow.db") as database:
        database.executescript(
            """
            CREATE TABLE dag (dag_id, is_paused);
            CREATE TABLE job (job_type, start_date);
            CREATE TABLE task_instance (start_date);
            INSERT INTO job VALUES ('SchedulerJob', '2026-03-01 11:50:00.000000');
            INSERT INTO dag VALUES ('compact', 0), ('watch_stream', 1);
            """
        )
    assert airflow.seconds_without_a_task(settings, now) == 0, "no DAG is on that would start one by itself"
    with sqlite3.connect(airflow.home(settings) / "airflow.db") as database:
        database.execute("UPDATE dag SET is_paused = 0")
    assert airflow.seconds_without_a_task(settings, now) == 600.0
    assert "has started no task for" in (airflow.idle(settings) or "")
    with sqlite3.connect(airflow.home(settings) / "airflow.db") as database:
        database.execute("INSERT INTO task_instance VALUES ('2026-03-01 11:59:30.000000'), (NULL)")
    assert airflow.seconds_without_a_task(settings, now) == 30.0
