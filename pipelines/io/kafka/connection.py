"""Where brokers are and how one connects to them: the one definition from which every client has its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pipelines import pem
from pipelines.errors import BrokerUnavailable, InvalidInput
from pipelines.kafka_security import PREFIX, Security
from pipelines.secret import Secret
from pipelines.settings import Settings

Principal = Literal["admin", "job", "simulator", "api", "sealer"]
"""Who logs in to the embedded broker of `PTS_PROFILE=secure`."""

LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
GROUP = "none"
"""The consumer group, for which librdkafka asks. Nothing is committed to it."""

PLAINTEXT = Security()
TOKENS_BY_CLIENT_CREDENTIALS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


@dataclass(frozen=True)
class Connection:
    """The brokers of one cluster, and how a client is let in. Shown, it is the brokers' addresses alone."""

    bootstrap_servers: str
    security: Security = PLAINTEXT

    @classmethod
    def of(cls, settings: Settings, principal: Principal = "job") -> "Connection":
        """The connection that the settings ask for, to the embedded broker as one of its principals.

        Raises `BrokerUnavailable` where the embedded broker was never started with `PTS_PROFILE=secure`.
        """
        if settings.profile == "plain":
            return cls(settings.bootstrap_servers, settings.kafka.security)
        folder = secrets_of(settings.home)
        if not password_file(folder, principal).exists():
            raise BrokerUnavailable(f"{folder} has no login of {principal}: `pts up broker` makes it.")
        security = Security(
            protocol="SASL_SSL",
            ca_file=folder / "ca.pem",
            mechanism="SCRAM-SHA-512",
            username=principal,
            password=Secret(file=password_file(folder, principal), variable=f"The password of {principal}"),
        )
        return cls(settings.bootstrap_servers, security)

    def __str__(self) -> str:
        return self.bootstrap_servers

    def client_options(self) -> dict[str, str]:
        """The options of librdkafka's clients, and so of confluent-kafka's. They have secrets in them.

        Raises `InvalidInput` when a file that a setting names cannot be read, or does not hold what it should.
        """
        security = self.security
        if security.key_file:
            self._key()  # what is wrong with it, librdkafka tells in OpenSSL's words
        options = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": security.protocol,
            "ssl.ca.location": self._certificates("ca_file"),
            "ssl.certificate.location": self._certificates("certificate_file"),
            "ssl.key.location": str(security.key_file) if security.key_file else None,
            "ssl.key.password": security.secret("key_password"),
            "sasl.mechanism": security.mechanism,
            "sasl.username": security.username,
            "sasl.password": security.secret("password"),
        }
        if security.mechanism == "OAUTHBEARER":
            options |= {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": security.token_endpoint_url,
                "sasl.oauthbearer.client.id": security.client_id,
                "sasl.oauthbearer.client.secret": security.secret("client_secret"),
                "sasl.oauthbearer.scope": security.scope,
            }
        return _given(options)

    def spark_options(self) -> dict[str, str]:
        """The options of Spark's Kafka source, which are those of Java's clients. They have secrets in them, below
        names that Spark and Kafka redact.

        Raises `InvalidInput` as `client_options`.
        """
        security = self.security
        options: dict[str, str | None] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": security.protocol,
        }
        if security.ca_file:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self._certificates("ca_file")}
        if self._certificates("certificate_file"):
            options |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": security.text("certificate_file"),
                "ssl.keystore.key": self._key(),
            }
        if security.mechanism:
            options |= {"sasl.mechanism": security.mechanism, "sasl.jaas.config": self._jaas(security.mechanism)}
        if security.mechanism == "OAUTHBEARER":
            options |= {
                "sasl.login.callback.handler.class": TOKENS_BY_CLIENT_CREDENTIALS,
                "sasl.oauthbearer.token.endpoint.url": security.token_endpoint_url,
            }
        return {f"kafka.{name}": value for name, value in _given(options).items()}

    def _certificates(self, name: Literal["ca_file", "certificate_file"]) -> str | None:
        """The file that a setting names. Raises `InvalidInput` for one without certificates."""
        path: Path | None = getattr(self.security, name)
        if path is None:
            return None
        pem.certificates(path, PREFIX + name.upper())
        return str(path)

    def _key(self) -> str:
        """The private key in the one form that Java reads; OpenSSL reads more."""
        password = self.security.secret("key_password")
        try:
            key = load_pem_private_key(self.security.text("key_file").encode(), password.encode() if password else None)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"{PREFIX}KEY_FILE={self.security.key_file} is no private key in PEM that {PREFIX}KEY_PASSWORD opens."
            ) from error
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def _jaas(self, mechanism: str) -> str:
        security = self.security
        entries = (
            {"clientId": security.client_id, "clientSecret": security.secret("client_secret"), "scope": security.scope}
            if mechanism == "OAUTHBEARER"
            else {"username": security.username, "password": security.secret("password")}
        )
        quoted = " ".join(f'{name}="{_escaped(value)}"' for name, value in _given(entries).items())
        return f"{LOGIN_MODULES[mechanism]} required {quoted};"


def secrets_of(home: Path) -> Path:
    """The folder with the certificates and passwords of the embedded broker."""
    return home.resolve() / "kafka" / "secrets"


def password_file(folder: Path, principal: Principal) -> Path:
    return folder / f"{principal}.password"


def login_passwords(home: Path) -> dict[Principal, str]:
    """The password of each principal that has one."""
    folder = secrets_of(home)
    files = {name: password_file(folder, name) for name in get_args(Principal)}
    return {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.exists()}


def _given(options: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
