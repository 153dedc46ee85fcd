"""How this program connects to Kafka brokers: encryption, login, and combinations that make no sense."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from pipelines.secret import NamedFile, Secret, SecretGroup, named_text, private_text, secret_kinds

PREFIX = "PTS_KAFKA__SECURITY__"

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


OF_A_USER = ("username", "password")
OF_A_TOKEN = ("token_endpoint_url", "client_id", "client_secret")


class Security(SecretGroup, frozen=True):
    """Protocol, login and certificates of the connection to brokers of one's own."""

    PREFIX: ClassVar[str] = PREFIX

    protocol: Protocol = Field(
        default="PLAINTEXT",
        description="SSL: encrypted. SASL_SSL: encrypted, with a login. PLAINTEXT and SASL_PLAINTEXT encrypt nothing, "
        "and are for this machine.",
    )
    allow_plaintext: bool = Field(
        default=False,
        description="Whether a connection that is not encrypted may leave this machine. Who can see the network then "
        "reads records and passwords, and can change them.",
    )
    ca_file: NamedFile | None = Field(
        default=None,
        description="PEM file with the certificates of the authorities that the brokers' certificates come from. "
        "Unset: the public authorities that OpenSSL and Java know.",
    )
    certificate_file: NamedFile | None = Field(
        default=None,
        description="PEM file with this client's certificate, and those between it and its authority (mutual TLS).",
    )
    key_file: NamedFile | None = Field(default=None, description="PEM file with the private key of that certificate.")
    key_password: Secret | None = Field(default=None, description="Password of that key, if it has one.")
    mechanism: Mechanism | None = Field(
        default=None, description="How a login is made: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."
    )
    username: str | None = Field(default=None, description="Who logs in by PLAIN or SCRAM.")
    password: Secret | None = Field(default=None, description="The password of that login.")
    token_endpoint_url: str | None = Field(
        default=None, description="Where OAUTHBEARER gets its tokens, by client credentials (OpenID Connect)."
    )
    client_id: str | None = Field(default=None, description="Who asks for a token.")
    client_secret: Secret | None = Field(default=None, description="The secret of that client.")
    scope: str | None = Field(default=None, description="Scope of the token, where the token endpoint wants one.")

    @property
    def is_encrypted(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol.startswith("SASL_")

    def secret(self, name: Literal["password", "key_password", "client_secret"]) -> str | None:
        """The secret, if there is one. Raises `InvalidInput` for a file that holds none."""
        found: Secret | None = getattr(self, name)
        return found.reveal() if found else None

    def text(self, name: Literal["ca_file", "certificate_file", "key_file"]) -> str:
        """What the file holds that a setting names. Raises `InvalidInput` when that is nothing, and for a private key
        that is every user's.
        """
        read = private_text if name == "key_file" else named_text
        return read(getattr(self, name), PREFIX + name.upper())

    @field_validator("token_endpoint_url")
    @classmethod
    def _is_private(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "https://")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ValueError("a client's secret goes there: it must be an https address")
        return url

    @model_validator(mode="after")
    def _makes_sense(self) -> "Security":
        if fault := next(self._faults(), None):
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        is_token = self.has_login and self.mechanism == "OAUTHBEARER"
        is_user = self.has_login and not is_token
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        how = f"PROTOCOL={self.protocol}" + (f" and MECHANISM={self.mechanism}" if self.mechanism else "")
        for name, has_meaning in {
            **dict.fromkeys(("ca_file", "certificate_file", "key_file", "key_password"), self.is_encrypted),
            "mechanism": self.has_login,
            **dict.fromkeys(OF_A_USER, is_user),
            **dict.fromkeys((*OF_A_TOKEN, "scope"), is_token),
        }.items():
            if name in given and not has_meaning:
                yield f"{PREFIX}{name.upper()} has no meaning with {how}"
        if self.has_login and not self.mechanism:
            yield f"{how} needs {PREFIX}MECHANISM"
        if "key_password" in given and not self.key_file:
            yield f"{PREFIX}KEY_PASSWORD has no meaning without {PREFIX}KEY_FILE"
        if (self.certificate_file is None) != (self.key_file is None):
            yield f"{PREFIX}CERTIFICATE_FILE and {PREFIX}KEY_FILE need each other"
        for wanted in OF_A_TOKEN if is_token else OF_A_USER if is_user else ():
            if wanted not in given:
                is_file_enough = wanted in secret_kinds(type(self))
                or_file = f" or {PREFIX}{wanted.upper()}_FILE" if is_file_enough else ""
                yield f"{how} needs {PREFIX}{wanted.upper()}{or_file}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, whatever names the network knows."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def hosts(bootstrap_servers: str) -> list[tuple[str, int]]:
    """Host and port of each server; port 0 where none is told."""
    parts = [server.strip().rpartition(":") for server in bootstrap_servers.split(",") if server.strip()]
    return [(host.strip("[]"), int(port) if port.isdecimal() else 0) for host, _, port in parts]
