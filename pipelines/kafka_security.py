"""How this program connects to Kafka brokers: encryption, login, and combinations that make no sense."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from pipelines.errors import InvalidInput

PREFIX = "PTS_KAFKA__SECURITY__"

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


PASSWORD = ("password", "password_file")
KEY_PASSWORD = ("key_password", "key_password_file")
CLIENT_SECRET = ("client_secret", "client_secret_file")
"""A secret is given by itself, or by the name of the file that holds it."""

OF_A_USER = (("username",), PASSWORD)
OF_A_TOKEN = (("token_endpoint_url",), ("client_id",), CLIENT_SECRET)


class Security(BaseModel, frozen=True, extra="forbid"):
    """Protocol, login and certificates of the connection to brokers of one's own."""

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
    ca_file: Path | None = Field(
        default=None,
        description="PEM file with the certificates of the authorities that the brokers' certificates come from. "
        "Empty: the public authorities that OpenSSL and Java know.",
    )
    certificate_file: Path | None = Field(
        default=None,
        description="PEM file with this client's certificate, and those between it and its authority (mutual TLS).",
    )
    key_file: Path | None = Field(default=None, description="PEM file with the private key of that certificate.")
    key_password: SecretStr | None = Field(default=None, description="Password of that key, if it has one.")
    key_password_file: Path | None = Field(default=None, description="File that holds it, instead.")
    mechanism: Mechanism | None = Field(
        default=None, description="How a login is made: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."
    )
    username: str | None = Field(default=None, description="Who logs in by PLAIN or SCRAM.")
    password: SecretStr | None = Field(default=None, description="The password of that login.")
    password_file: Path | None = Field(
        default=None, description="File that holds it, instead; a line feed at its end does not count."
    )
    token_endpoint_url: str | None = Field(
        default=None, description="Where OAUTHBEARER gets its tokens, by client credentials (OpenID Connect)."
    )
    client_id: str | None = Field(default=None, description="Who asks for a token.")
    client_secret: SecretStr | None = Field(default=None, description="The secret of that client.")
    client_secret_file: Path | None = Field(default=None, description="File that holds it, instead.")
    scope: str | None = Field(default=None, description="Scope of the token, where the token endpoint wants one.")

    @property
    def is_encrypted(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol.startswith("SASL_")

    def secret(self, name: Literal["password", "key_password", "client_secret"]) -> str | None:
        """The secret, from its setting or its file. Raises `InvalidInput` when the file cannot be read."""
        value: SecretStr | None = getattr(self, name)
        if value is not None:
            return value.get_secret_value()
        return self.text(f"{name}_file").removesuffix("\n") if getattr(self, f"{name}_file") else None

    def text(self, name: str) -> str:
        """What the file holds that a setting names. Raises `InvalidInput` when it cannot be read."""
        path: Path = getattr(self, name)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InvalidInput(f"{PREFIX}{name.upper()}={path} cannot be read: {why}.") from error

    @field_validator("ca_file", "certificate_file", "key_file", "key_password_file", "password_file",
                     "client_secret_file")  # fmt: skip
    @classmethod
    def _from_any_folder(cls, path: Path | None) -> Path | None:
        """Services run in other folders than the shell that gives them their settings."""
        return path and path.expanduser().absolute()

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
            **dict.fromkeys(("ca_file", "certificate_file", "key_file", *KEY_PASSWORD), self.is_encrypted),
            "mechanism": self.has_login,
            **dict.fromkeys(("username", *PASSWORD), is_user),
            **dict.fromkeys(("token_endpoint_url", "client_id", *CLIENT_SECRET, "scope"), is_token),
        }.items():
            if name in given and not has_meaning:
                yield f"{PREFIX}{name.upper()} has no meaning with {how}"
        for one, other in (PASSWORD, KEY_PASSWORD, CLIENT_SECRET):
            if {one, other} <= given:
                yield f"{PREFIX}{one.upper()} and {PREFIX}{other.upper()} exclude each other"
        if self.has_login and not self.mechanism:
            yield f"{how} needs {PREFIX}MECHANISM"
        if given.intersection(KEY_PASSWORD) and not self.key_file:
            yield f"{PREFIX}KEY_PASSWORD has no meaning without {PREFIX}KEY_FILE"
        if (self.certificate_file is None) != (self.key_file is None):
            yield f"{PREFIX}CERTIFICATE_FILE and {PREFIX}KEY_FILE need each other"
        for wanted in OF_A_TOKEN if is_token else OF_A_USER if is_user else ():
            if not given.intersection(wanted):
                yield f"{how} needs {' or '.join(PREFIX + name.upper() for name in wanted)}"


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
