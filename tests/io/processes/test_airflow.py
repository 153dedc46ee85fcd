"""The environment of the embedded Airflow."""

from pathlib import Path

from pipelines.io.processes import airflow
from pipelines.settings import Airflow, Settings
from tests.ports import unused_ports


def test_keys_are_made_once_and_nobody_else_can_read_them(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    first, second = airflow.environment(settings, {}), airflow.environment(settings, {})

    assert first == second
    assert (
        first["AIRFLOW__CORE__FERNET_KEY"]
        != airflow.environment(Settings(home=tmp_path / "other"), {})["AIRFLOW__CORE__FERNET_KEY"]
    )
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
    settings = Settings(home=tmp_path, airflow=Airflow(database="postgresql+psycopg2://pts@db/airflow"))

    found = airflow.environment(settings, {})
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "postgresql+psycopg2://pts@db/airflow"


def test_it_listens_on_the_loopback_interface_alone_and_has_no_examples(tmp_path: Path) -> None:
    found = airflow.environment(Settings(home=tmp_path, airflow=Airflow(port=1234)), {})

    assert (found["AIRFLOW__API__HOST"], found["AIRFLOW__API__PORT"]) == ("127.0.0.1", "1234")
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:1234/execution/"
    assert found["AIRFLOW__CORE__LOAD_EXAMPLES"] == "False"
    assert "Simple" not in found["AIRFLOW__CORE__AUTH_MANAGER"]


def test_airflow_that_nobody_started_is_not_well() -> None:
    assert not airflow.is_healthy(Settings(airflow=Airflow(port=unused_ports()[0])))
