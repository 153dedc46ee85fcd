"""What each client makes of certificates and tokens, on ports that speak no Kafka."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import AccessRefused
from pipelines.io.kafka import admin, consumer, producer
from pipelines.io.kafka.connection import Connection
from pipelines.kafka_security import Security
from pipelines.stack.certificates import renew
from tests.integration.kafka_clients import CLIENTS, asks, consumes, moves, produces, reads_by_spark, reads_by_tasks
from tests.tls import plain_port, tls_port
from tests.tokens import Issuer, token_endpoint
from tests.waiting import becomes

Client = Callable[[Connection, str, SparkSession], None]
A_YEAR_AGO = datetime.now(UTC) - timedelta(days=365)
TOPIC = "ship-events"


@pytest.fixture
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what never comes."""
    monkeypatch.setattr(admin, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(consumer, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(producer, "DELIVERY_SECONDS", 1.0)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    renew(folder)
    return folder


@pytest.mark.parametrize("client", [*CLIENTS, pytest.param(reads_by_tasks, marks=pytest.mark.long)])
def test_expired_certificate_is_told_from_an_untrusted_one(client: Client, spark: SparkSession, tmp_path: Path) -> None:
    renew(tmp_path, A_YEAR_AGO)
    with tls_port(tmp_path) as there:
        connection = Connection(there.address, Security(protocol="SSL", ca_file=tmp_path / "ca.pem"))
        with pytest.raises(AccessRefused, match="certificate of a Kafka broker has expired"):
            client(connection, TOPIC, spark)


@pytest.mark.parametrize("client", CLIENTS)
def test_untrusted_certificate_is_named(
    client: Client, spark: SparkSession, certificates: Path, tmp_path: Path
) -> None:
    renew(tmp_path)
    with tls_port(tmp_path) as there:
        connection = Connection(there.address, Security(protocol="SSL", ca_file=certificates / "ca.pem"))
        with pytest.raises(AccessRefused, match=r"is not trusted: PTS_KAFKA__SECURITY__CA_FILE"):
            client(connection, TOPIC, spark)


@pytest.mark.usefixtures("_no_patience")
@pytest.mark.parametrize("client", [asks, consumes, produces, moves])
def test_plain_text_to_a_port_that_wants_tls_is_named(client: Client, spark: SparkSession, certificates: Path) -> None:
    with (
        tls_port(certificates) as there,
        pytest.raises(AccessRefused, match=r"want TLS, .* speaks plain text: set PTS_KAFKA__SECURITY__PROTOCOL"),
    ):
        client(Connection(there.address), TOPIC, spark)


@pytest.mark.usefixtures("_no_patience")
@pytest.mark.parametrize("client", [asks, consumes, produces, moves])
def test_tls_to_a_port_that_knows_only_plain_text_is_named(
    client: Client, spark: SparkSession, certificates: Path
) -> None:
    security = Security(protocol="SSL", ca_file=certificates / "ca.pem")
    with (
        plain_port() as address,
        pytest.raises(AccessRefused, match=r"do not speak TLS on this port: PTS_KAFKA__SECURITY__PROTOCOL"),
    ):
        client(Connection(address, security), TOPIC, spark)


@pytest.mark.parametrize("client", [asks, reads_by_spark])
def test_client_certificate_is_shown_by_each_client(
    client: Client, spark: SparkSession, certificates: Path, tmp_path: Path
) -> None:
    own = {"certificate_file": certificates / "controller.pem", "key_file": certificates / "controller.pem"}
    security = Security.model_validate({"protocol": "SSL", "ca_file": certificates / "ca.pem"} | own)
    with (
        tls_port(certificates, wants_client=True) as there,
        in_a_thread(client, Connection(there.address, security), spark),
    ):
        assert becomes(lambda: bool(there.clients), 30)
        renew(tmp_path)
        there.context.load_cert_chain(tmp_path / "broker.pem")  # untrusted: so the client gives up
    assert {str(each["subject"]) for each in there.clients} == {"((('commonName', 'controller'),),)"}


@pytest.mark.parametrize("client", [asks, reads_by_spark])
def test_client_without_the_certificate_that_is_wanted_is_told_so(
    client: Client, spark: SparkSession, certificates: Path
) -> None:
    security = Security(protocol="SSL", ca_file=certificates / "ca.pem")
    with (
        tls_port(certificates, wants_client=True) as there,
        pytest.raises(AccessRefused, match="refuse this client's certificate, or want one"),
    ):
        client(Connection(there.address, security), TOPIC, spark)


@pytest.mark.parametrize("client", [asks, reads_by_spark])
def test_token_is_asked_for_with_the_clients_id_and_secret(
    client: Client, spark: SparkSession, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with token_endpoint(Issuer()) as endpoint, tls_port(certificates) as there:
        assert spark._jvm is not None
        spark._jvm.System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", endpoint.url)
        security = Security.model_validate(
            {"protocol": "SASL_SSL", "ca_file": certificates / "ca.pem", "mechanism": "OAUTHBEARER"}
            | {"token_endpoint_url": endpoint.url, "client_id": "pts", "client_secret": "hunter2", "scope": "kafka"}
        )
        with in_a_thread(client, Connection(there.address, security), spark):
            assert becomes(lambda: bool(endpoint.asked), 30)
    assert endpoint.asked[0] == ("pts:hunter2", "grant_type=client_credentials&scope=kafka")


@contextmanager
def in_a_thread(client: Client, connection: Connection, spark: SparkSession) -> Iterator[None]:
    """A client that goes on until it is refused."""

    def run() -> None:
        with suppress(Exception):
            client(connection, TOPIC, spark)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
