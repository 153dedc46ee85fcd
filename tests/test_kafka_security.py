"""Which settings of a connection to brokers are refused, and with which sentence."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipelines.errors import InvalidInput
from pipelines.kafka_security import PREFIX, Security, hosts, is_loopback
from pipelines.settings import load_settings

BROKERS = {"PTS_KAFKA__BOOTSTRAP_SERVERS": "kafka.example.org:9094"}
TLS = {f"{PREFIX}PROTOCOL": "SSL"}
LOGIN = {f"{PREFIX}PROTOCOL": "SASL_SSL", f"{PREFIX}MECHANISM": "SCRAM-SHA-512"}
USER = {f"{PREFIX}USERNAME": "pts", f"{PREFIX}PASSWORD": "hunter2"}
TOKEN = {
    f"{PREFIX}PROTOCOL": "SASL_SSL",
    f"{PREFIX}MECHANISM": "OAUTHBEARER",
    f"{PREFIX}TOKEN_ENDPOINT_URL": "https://id.example.org/token",
    f"{PREFIX}CLIENT_ID": "pts",
    f"{PREFIX}CLIENT_SECRET": "hunter2",
}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "given",
    [
        {"PTS_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9092,[::1]:9092,localhost:9092"},
        {**BROKERS, f"{PREFIX}ALLOW_PLAINTEXT": "true"},
        {**BROKERS, **TLS},
        {**BROKERS, **TLS, f"{PREFIX}CERTIFICATE_FILE": "me.pem", f"{PREFIX}KEY_FILE": "me.key"},
        {**BROKERS, **LOGIN, **USER},
        {**BROKERS, **LOGIN, f"{PREFIX}USERNAME": "pts", f"{PREFIX}PASSWORD_FILE": "/run/secrets/kafka"},
        {**BROKERS, **TOKEN},
        {**BROKERS, **TOKEN, f"{PREFIX}TOKEN_ENDPOINT_URL": "http://127.0.0.1:8081/token"},
        {"PTS_PROFILE": "secure"},
    ],
    indirect=True,
)
@pytest.mark.usefixtures("given")
def test_what_makes_sense_is_taken() -> None:
    load_settings()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (BROKERS, "PROTOCOL=PLAINTEXT would send records to kafka.example.org unencrypted"),
        ({"PTS_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9092,10.0.0.7:9092"}, "would send records to 10.0.0.7"),
        ({**BROKERS, **LOGIN, **USER, f"{PREFIX}PROTOCOL": "SASL_PLAINTEXT"}, "PROTOCOL=SASL_PLAINTEXT would send"),
        (TLS, "is for brokers that PTS_KAFKA__BOOTSTRAP_SERVERS names"),
        ({**BROKERS, **TLS, "PTS_PROFILE": "secure"}, "PTS_PROFILE=secure is for the embedded broker"),
        ({**BROKERS, f"{PREFIX}CA_FILE": "ca.pem"}, "CA_FILE has no meaning with PROTOCOL=PLAINTEXT"),
        ({**BROKERS, **TLS, **USER}, "USERNAME has no meaning with PROTOCOL=SSL"),
        ({**BROKERS, **TLS, f"{PREFIX}MECHANISM": "PLAIN"}, "MECHANISM has no meaning with PROTOCOL=SSL"),
        ({**BROKERS, **TLS, f"{PREFIX}KEY_FILE": "me.key"}, "CERTIFICATE_FILE and .*KEY_FILE need each other"),
        ({**BROKERS, **TLS, f"{PREFIX}KEY_PASSWORD": "hunter2"}, "KEY_PASSWORD has no meaning without .*KEY_FILE"),
        ({**BROKERS, f"{PREFIX}PROTOCOL": "SASL_SSL"}, "PROTOCOL=SASL_SSL needs .*MECHANISM"),
        ({**BROKERS, **LOGIN}, "MECHANISM=SCRAM-SHA-512 needs .*USERNAME"),
        ({**BROKERS, **LOGIN, f"{PREFIX}USERNAME": "pts"}, "needs .*PASSWORD or .*PASSWORD_FILE"),
        (
            {**BROKERS, **LOGIN, **USER, f"{PREFIX}PASSWORD_FILE": "x"},
            "PASSWORD and .*PASSWORD_FILE exclude each other",
        ),
        ({**BROKERS, **LOGIN, **USER, f"{PREFIX}SCOPE": "x"}, "SCOPE has no meaning with .*SCRAM-SHA-512"),
        ({**BROKERS, **TOKEN, **USER}, "USERNAME has no meaning with .*OAUTHBEARER"),
        ({**BROKERS, **LOGIN, f"{PREFIX}MECHANISM": "OAUTHBEARER"}, "needs .*TOKEN_ENDPOINT_URL"),
        (
            {**BROKERS, **TOKEN, f"{PREFIX}TOKEN_ENDPOINT_URL": "http://id.example.org/token"},
            "must be an https address",
        ),
        ({**BROKERS, **LOGIN, **USER, f"{PREFIX}MECHANISM": "SCRAM"}, "MECHANISM: Input should be"),
    ],
    indirect=["given"],
)
@pytest.mark.usefixtures("given")
def test_what_makes_no_sense_is_refused_in_a_sentence_without_secrets(sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence) as refusal:
        load_settings()
    assert "hunter2" not in f"{refusal.value}{refusal.value.__cause__}"


@pytest.mark.parametrize(
    ("servers", "found"),
    [
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , [::1]:2,", [("a", 1), ("::1", 2)]),
        ("a", [("", 0)]),
    ],
)
def test_hosts_of_the_brokers(servers: str, found: list[tuple[str, int]]) -> None:
    assert hosts(servers) == found


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "10.0.0.7", "0.0.0.0", "example.org", "localhost.example.org", "PLAINTEXT://127.0.0.1"]
)
def test_another_machine_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_a_secret_comes_from_its_file_without_the_line_feed_of_an_editor(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(" hunter 2 \n")
    (tmp_path / "password").chmod(0o640)
    security = Security.model_validate(
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "pts", "password_file": tmp_path / "password"}
    )
    assert security.secret("password") == " hunter 2 "
    (tmp_path / "password").unlink()
    with pytest.raises(InvalidInput, match=r"PASSWORD_FILE=.*password cannot be read: No such file or directory\."):
        security.secret("password")


@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
def test_variable_that_is_empty_names_no_file(name: str) -> None:
    with pytest.raises(ValidationError, match="it names no file: unset it"):
        Security.model_validate({"protocol": "SSL", name: ""})
