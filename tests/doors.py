"""The secure broker with two doors more, as brokers of others have them: client certificates, and tokens. It looks at
once what its topics are to delete, and not every five minutes.

`python -m tests.doors broker` is `pts broker` with the listeners MUTUAL and TOKEN. Who comes with a certificate or a
token of `job` is the job, and has its rights.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from pipelines.cli import main as cli
from pipelines.io.kafka.connection import secrets_of
from pipelines.kafka_security import Security
from pipelines.processes.supervisor import Supervisor
from pipelines.settings import Kafka, Settings
from pipelines.stack import broker
from tests.ports import unused_ports
from tests.tokens import Issuer, TokenEndpoint, token_endpoint

PROJECT = Path(__file__).parent.parent
PORTS, KEYS = "DOORS_PORTS", "DOORS_KEYS"
"""Variables of the broker's process: two ports, and the file of the token issuer's keys."""

CLIENT_ID, CLIENT_SECRET, KEY_PASSWORD = "pts", "a client's secret 4f1c", "a key's password 97ae"
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"

FURTHER = """
listeners=CLIENT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller_port,{doors}
advertised.listeners=CLIENT://127.0.0.1:$port,{doors}
listener.security.protocol.map=CLIENT:SASL_SSL,CONTROLLER:SSL,MUTUAL:SSL,TOKEN:SASL_SSL
listener.name.mutual.ssl.keystore.location=$secrets/broker.pem
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.principal.mapping.rules=RULE:CN=job/job/,DEFAULT
listener.name.token.ssl.keystore.location=$secrets/broker.pem
listener.name.token.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.token.oauthbearer.sasl.jaas.config=\\
  org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
listener.name.token.oauthbearer.sasl.server.callback.handler.class=\\
  org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.token.oauthbearer.connections.max.reauth.ms=3600000
listener.name.token.sasl.oauthbearer.jwks.endpoint.url={keys}
log.initial.task.delay.ms=0
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=100
"""


@dataclass(frozen=True)
class Doors:
    """Where they are, and how the job comes in."""

    folder: Path
    ports: tuple[int, int]
    tokens: TokenEndpoint

    def by_certificate(self, secure: Settings, **other: Any) -> Kafka:
        """With a certificate of the broker's own authority, whose key has a password."""
        file = self.folder / "job.pem"
        if not file.exists():
            file.write_bytes(client_certificate(secrets_of(secure.home)))
            file.chmod(0o600)
        told = {"protocol": "SSL", "certificate_file": file, "key_file": file, "key_password": KEY_PASSWORD}
        return self._kafka(0, secure, told | other)

    def by_token(self, secure: Settings, **other: Any) -> Kafka:
        told = {
            "protocol": "SASL_SSL",
            "mechanism": "OAUTHBEARER",
            "token_endpoint_url": self.tokens.url,
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "scope": "kafka",
        }
        return self._kafka(1, secure, told | other)

    def _kafka(self, number: int, secure: Settings, told: Mapping[str, Any]) -> Kafka:
        security = Security.model_validate({"ca_file": secrets_of(secure.home) / "ca.pem", **told})
        return Kafka(bootstrap_servers=f"127.0.0.1:{self.ports[number]}", security=security)


@contextmanager
def doors(folder: Path) -> Iterator[Doors]:
    """Those of the brokers that are started within the block."""
    issuer = Issuer({f"{CLIENT_ID}:{CLIENT_SECRET}": "job"})
    keys, ports = folder / "keys.json", unused_ports()
    keys.write_text(issuer.key_set())
    of_pts = Supervisor.environment

    def with_doors(supervisor: Supervisor) -> dict[str, str]:
        told = of_pts(supervisor)
        own = {PORTS: ",".join(map(str, ports)), KEYS: keys.as_uri(), "PYTHONPATH": str(PROJECT)}
        return told | own | {"STACK_BROKER": told["STACK_BROKER"].replace("pipelines.cli", "tests.doors")}

    with pytest.MonkeyPatch.context() as patched, token_endpoint(issuer) as tokens:
        patched.setattr(Supervisor, "environment", with_doors)
        yield Doors(folder, ports, tokens)


def client_certificate(secrets: Path) -> bytes:
    """That of the job, behind its key, which `KEY_PASSWORD` opens."""
    authority = load_pem_private_key((secrets / "ca.key").read_bytes(), None)
    assert isinstance(authority, EllipticCurvePrivateKey)
    key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "job")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(x509.load_pem_x509_certificate((secrets / "ca.pem").read_bytes()).subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(authority, SHA256())
    )
    locked = BestAvailableEncryption(KEY_PASSWORD.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked) + made.public_bytes(Encoding.PEM)


def main() -> None:
    folder = Path(os.environ["PTS_HOME"], "doors")
    shutil.copytree(broker.CONFIGURATION, folder, dirs_exist_ok=True)
    mutual, token = os.environ[PORTS].split(",")
    addresses = f"MUTUAL://127.0.0.1:{mutual},TOKEN://127.0.0.1:{token}"
    with (folder / "secure.properties").open("a", encoding="utf-8") as out:
        out.write(FURTHER.format(doors=addresses, keys=os.environ[KEYS]))
    execv, allowed = os.execv, f"-D{ALLOWED_URLS}={os.environ[KEYS]}"
    patched = pytest.MonkeyPatch()
    patched.setattr(broker, "CONFIGURATION", folder)
    patched.setattr(os, "execv", lambda path, command: execv(path, [command[0], allowed, *command[1:]]))
    cli.main()


if __name__ == "__main__":
    main()
