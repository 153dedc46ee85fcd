"""The options that each kind of client gets from one definition."""

import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from pipelines.errors import BrokerUnavailable, InvalidInput
from pipelines.io.kafka.connection import Connection, password_file, secrets_of
from pipelines.kafka_security import PREFIX, Security
from pipelines.processes.atomic_file import write_whole
from pipelines.settings import Settings
from pipelines.stack import certificates

SERVERS = "kafka.example.org:9094"
AWKWARD = 'hun"ter\\2'
"""A password that would end its own quotation."""


def test_plain_text_is_said() -> None:
    assert Connection("127.0.0.1:1").client_options() == {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "PLAINTEXT",
    }
    assert Connection("127.0.0.1:1").spark_options() == {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_login_of_a_user(mechanism: str, module: str, tmp_path: Path) -> None:
    certificates.renew(tmp_path)
    security = Security.model_validate(
        {"protocol": "SASL_SSL", "mechanism": mechanism, "username": "pts", "password": AWKWARD}
        | {"ca_file": tmp_path / "ca.pem"}
    )
    connection = Connection(SERVERS, security)
    assert connection.client_options() == {
        "bootstrap.servers": SERVERS,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "sasl.mechanism": mechanism,
        "sasl.username": "pts",
        "sasl.password": AWKWARD,
    }
    assert connection.spark_options() == {
        "kafka.bootstrap.servers": SERVERS,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(tmp_path / "ca.pem"),
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": f'org.apache.kafka.common.security.{module} required username="pts" '
        'password="hun\\"ter\\\\2";',
    }


def test_client_certificate_whose_key_has_a_password(tmp_path: Path) -> None:
    key = generate_private_key(65537, 2048).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"hunter2")
    )
    (tmp_path / "me.key").write_bytes(key)
    (tmp_path / "me.key").chmod(0o600)
    certificates.renew(tmp_path)
    (tmp_path / "ca.pem").rename(tmp_path / "me.pem")
    security = Security.model_validate(
        {"protocol": "SSL", "certificate_file": tmp_path / "me.pem", "key_file": tmp_path / "me.key"}
        | {"key_password": "hunter2"}
    )
    assert Connection(SERVERS, security).client_options() == {
        "bootstrap.servers": SERVERS,
        "security.protocol": "SSL",
        "ssl.certificate.location": str(tmp_path / "me.pem"),
        "ssl.key.location": str(tmp_path / "me.key"),
        "ssl.key.password": "hunter2",
    }
    options = Connection(SERVERS, security).spark_options()
    assert options.pop("kafka.ssl.keystore.key").startswith("-----BEGIN PRIVATE KEY-----"), "the only form of Java"
    assert options == {
        "kafka.bootstrap.servers": SERVERS,
        "kafka.security.protocol": "SSL",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": (tmp_path / "me.pem").read_text(),
    }
    wrong = security.model_copy(update={"key_password": None})
    for options_of in (Connection(SERVERS, wrong).client_options, Connection(SERVERS, wrong).spark_options):
        with pytest.raises(InvalidInput, match=r"KEY_FILE=.*me.key is no private key in PEM that .*KEY_PASSWORD opens"):
            options_of()


def test_tokens_by_client_credentials() -> None:
    security = Security.model_validate(
        {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "token_endpoint_url": "https://id.example.org/token"}
        | {"client_id": "pts", "client_secret": "hunter2", "scope": "kafka"}
    )
    assert Connection(SERVERS, security).client_options() == {
        "bootstrap.servers": SERVERS,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example.org/token",
        "sasl.oauthbearer.client.id": "pts",
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.scope": "kafka",
    }
    module = "org.apache.kafka.common.security.oauthbearer"
    assert Connection(SERVERS, security).spark_options() == {
        "kafka.bootstrap.servers": SERVERS,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.jaas.config": f'{module}.OAuthBearerLoginModule required clientId="pts" clientSecret="hunter2" '
        'scope="kafka";',
        "kafka.sasl.login.callback.handler.class": f"{module}.OAuthBearerLoginCallbackHandler",
        "kafka.sasl.oauthbearer.token.endpoint.url": "https://id.example.org/token",
    }


def test_file_that_is_not_there_is_named_with_its_setting(tmp_path: Path) -> None:
    connection = Connection(SERVERS, Security(protocol="SSL", ca_file=tmp_path / "ca.pem"))
    for options in (connection.client_options, connection.spark_options):
        with pytest.raises(InvalidInput, match=r"CA_FILE=.*ca.pem cannot be read: No such file or directory\."):
            options()


@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
@pytest.mark.parametrize(
    ("held", "sentence"),
    [("", "is empty"), ("\n \n", "is empty"), ("hunter2", r"has no certificate in PEM|is no private key in PEM")],
)
def test_file_that_holds_nothing_of_the_kind_is_not_taken_for_none_given(
    name: str, held: str, sentence: str, tmp_path: Path
) -> None:
    certificates.renew(tmp_path)
    for file in ("ca", "certificate", "key"):
        (tmp_path / file).write_text((tmp_path / "broker.pem").read_text())
        (tmp_path / file).chmod(0o600)
    files = {f"{file}_file": tmp_path / file for file in ("ca", "certificate", "key")}
    connection = Connection(SERVERS, Security.model_validate({"protocol": "SSL", **files}))
    connection.client_options()
    connection.spark_options()
    files[name].write_text(held)
    for options in (connection.client_options, connection.spark_options):
        with pytest.raises(InvalidInput, match=f"{PREFIX}{name.upper()}=.* ({sentence})") as refusal:
            options()
        assert "hunter2" not in str(refusal.value)


def test_private_key_of_every_user_is_refused(tmp_path: Path) -> None:
    certificates.renew(tmp_path)
    files = {"certificate_file": tmp_path / "broker.pem", "key_file": tmp_path / "broker.pem"}
    connection = Connection(SERVERS, Security.model_validate({"protocol": "SSL", **files}))
    (tmp_path / "broker.pem").chmod(0o644)
    for options in (connection.client_options, connection.spark_options):
        with pytest.raises(InvalidInput, match=r"KEY_FILE=.* every user of this machine may use \(mode 0644\): `chmod"):
            options()


def test_embedded_broker_has_a_login_for_each_principal_once_it_was_started(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, profile="secure")
    with pytest.raises(BrokerUnavailable, match="no login of simulator: `pts up broker` makes it"):
        Connection.of(settings, "simulator")
    folder = secrets_of(tmp_path)
    folder.mkdir(parents=True)
    certificates.renew(folder)
    write_whole(password_file(folder, "simulator"), "hunter2", is_secret=True)
    options = Connection.of(settings, "simulator").client_options()
    assert (options["sasl.username"], options["sasl.password"]) == ("simulator", "hunter2")
    assert options["security.protocol"] == "SASL_SSL"


def test_connection_is_shown_without_secrets_and_travels_to_tasks_with_them() -> None:
    security = Security.model_validate(
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "pts", "password": "hunter2"}
    )
    connection = Connection(SERVERS, security)
    assert str(connection) == SERVERS
    assert "hunter2" not in f"{connection!r}"
    assert pickle.loads(pickle.dumps(connection)) == connection
    assert len({connection, Connection(SERVERS, security)}) == 1
