"""What is shown of settings, and handed on."""

from pathlib import Path

import pytest

from pipelines.errors import InvalidInput
from pipelines.kafka_security import Security
from pipelines.secret import SecretAddress
from pipelines.settings import Airflow, Alerts, Kafka, Settings, Spark, load_settings
from pipelines.settings_variables import as_variables, misspelt, secret_variables, setting_lines, shown

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="pts" password="hunter 2";'


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("postgresql+psycopg2://pts:hunter@2@host/name", "postgresql+psycopg2://pts:***@host/name"),
        ("postgresql://host/name?user=pts&password=hunter2&a=b", "postgresql://host/name?user=pts&password=***&a=b"),
        ("postgresql://user@host/name", "postgresql://user@host/name"),
        ("https://hooks.example.org/services/hunter2", "https://hooks.example.org/***"),
        ("https://u:hunter2@hooks.example.org/hook?token=hunter2", "https://u:***@hooks.example.org/***"),
        ("https://hunter2@hooks.example.org/hook", "https://***@hooks.example.org/***"),
        (JAAS, JAAS.replace('"hunter 2"', "***")),
        ("s3a://bucket/lake", "s3a://bucket/lake"),
        ("mailto:ada@example.org", "mailto:ada@example.org"),
        ("host:9092,other:9092", "host:9092,other:9092"),
        ({"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.hadoop.fs.s3a.access.key": "hunter2"}, None),
        ({"spark.ssl.keyPassword": "hunter2", "spark.executor.extraJavaOptions": "-Dpassword=hunter2 -Da=b"}, None),
        (3, 3),
        (None, None),
    ],
)
def test_secrets_are_not_shown(value: object, told: object) -> None:
    found = shown(value)
    assert "hunter" not in str(found)
    assert found == told or isinstance(value, dict)


def test_secrets_are_handed_on_and_not_listed() -> None:
    login = Security.model_validate(
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "pts", "password": "hunter2"}
    )
    settings = Settings(
        kafka=Kafka(bootstrap_servers="kafka.example.org:9094", security=login),
        alerts=Alerts(to=SecretAddress("https://hooks.example.org/hunter2")),
        airflow=Airflow(database=SecretAddress("postgresql://pts:hunter2@host/name")),
        spark=Spark(conf={"spark.executor.memory": "4g", "spark.authenticate.secret": "hunter2"}),
    )
    listed = {line.variable: line.value for line in setting_lines(settings, {})}
    assert "hunter2" not in str(listed)
    assert listed["PTS_SPARK__CONF"] == {"spark.executor.memory": "4g"}
    assert listed["PTS_SPARK__SECRET_CONF"] == {"spark.authenticate.secret": "***"}
    assert listed["PTS_ALERTS__TO"] == "https://hooks.example.org/***"
    assert listed["PTS_AIRFLOW__DATABASE"] == "postgresql://pts:***@host/name"
    assert "hunter2" not in repr(settings)
    assert listed["PTS_KAFKA__SECURITY__PASSWORD"] == "***"
    assert str(as_variables(settings)).count("hunter2") == 4


def test_settings_that_are_handed_on_are_read_back_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(
        kafka=Kafka(
            bootstrap_servers="kafka.example.org:9094",
            security=Security(protocol="SSL", ca_file=Path("ca.pem"), allow_plaintext=True),
        )
    )
    for name, value in as_variables(settings).items():
        monkeypatch.setenv(name, value)
    assert load_settings().kafka == settings.kafka
    assert settings.kafka.security.ca_file == Path("ca.pem").absolute(), "a service runs in another folder"


def test_group_that_is_no_json_is_refused_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTS_SPARK__CONF", '{"spark.authenticate.secret": "hunter2"')
    with pytest.raises(InvalidInput, match="JSON object") as refusal:
        load_settings()
    assert "hunter2" not in str(refusal.value)


def test_every_secret_is_documented_and_may_be_in_a_file() -> None:
    assert secret_variables() == [
        "PTS_KAFKA__SECURITY__KEY_PASSWORD",
        "PTS_KAFKA__SECURITY__PASSWORD",
        "PTS_KAFKA__SECURITY__CLIENT_SECRET",
        "PTS_STORAGE__SECRET_ACCESS_KEY",
        "PTS_STORAGE__SESSION_TOKEN",
        "PTS_SPARK__SECRET_CONF",
        "PTS_ALERTS__TO",
        "PTS_AIRFLOW__DATABASE",
        "PTS_BOARD__PASSWORD",
    ]
    page = (Path(__file__).parent.parent / "docs" / "security.md").read_text()
    assert [variable for variable in secret_variables() if f"| `{variable}` |" not in page] == []
    assert misspelt({f"{variable}_FILE": "x" for variable in secret_variables()}) == {}
    described = {line.variable: line.description for line in setting_lines(Settings(), {})}
    assert all(f"{variable}_FILE" in described[variable] for variable in secret_variables())
