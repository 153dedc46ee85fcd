"""How an object store is reached."""

from typing import ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from pipelines import pem
from pipelines.kafka_security import is_loopback
from pipelines.secret import NamedFile, Secret, SecretGroup


class Storage(SecretGroup, frozen=True):
    """How an object store is reached, where PTS_LAKE is in one."""

    PREFIX: ClassVar[str] = "PTS_STORAGE__"

    endpoint: str = Field(
        default="",
        pattern=r"^(https?://[^\s/?#@]+)?$",
        description="Where a store is that is not Amazon's: https://host:port. Empty: Amazon S3 in the region.",
    )
    allow_plaintext: bool = Field(
        default=False,
        description="Whether a store beyond this machine may be asked in plain text (http:). Who can see the network "
        "then reads the tables, and can change them.",
    )
    ca_file: NamedFile | None = Field(
        default=None,
        description="PEM file with the certificates of the authorities that the endpoint's certificate comes from. "
        "Unset: the public authorities that the machine and Java know.",
    )
    region: str = Field(default="", description="The store's region. Empty: what the environment says, or us-east-1.")
    access_key_id: str = Field(
        default="",
        description="Who asks. Empty: the usual chain of AWS tells, that is AWS_… of the environment, a web identity, "
        "or the machine's own role.",
    )
    secret_access_key: Secret | None = Field(default=None, description="The secret that belongs to it.")
    session_token: Secret | None = Field(default=None, description="That of credentials that run out.")

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise ValueError("PTS_STORAGE__ACCESS_KEY_ID and PTS_STORAGE__SECRET_ACCESS_KEY go together")
        is_open = self.endpoint.startswith("http://") and not is_loopback(urlsplit(self.endpoint).hostname or "")
        if is_open and not self.allow_plaintext:
            raise ValueError(
                f"PTS_STORAGE__ENDPOINT={self.endpoint} would be asked in plain text: use https, or set "
                "PTS_STORAGE__ALLOW_PLAINTEXT=true where nobody else can see the network"
            )
        if self.ca_file and not self.endpoint.startswith("https://"):
            raise ValueError("PTS_STORAGE__CA_FILE has no meaning without PTS_STORAGE__ENDPOINT=https://…")
        return self

    def authorities(self) -> str:
        """The certificates of `ca_file`, as PEM; nothing where it is unset.

        Raises `InvalidInput` for a file without any.
        """
        return pem.certificates(self.ca_file, f"{self.PREFIX}CA_FILE") if self.ca_file else ""

    def of_spark(self) -> dict[str, str]:
        """Hadoop's properties that say the same (its client is S3A, here for addresses with `s3:`).

        Raises `InvalidInput` as `authorities`.
        """
        authorities = self.authorities()
        said = {
            "endpoint": self.endpoint,
            "endpoint.region": self.region or "us-east-1",
            "path.style.access": "true" if self.endpoint else "",
            # Java trusts a list for all of a process (infra/java/TrustingClient.scala).
            "s3.client.factory.impl": "superfastpts.TrustingClientFactory" if authorities else "",
            "superfastpts.authorities": authorities,
            "access.key": self.access_key_id,
            "secret.key": self.secret_access_key and self.secret_access_key.reveal(),
            "session.token": self.session_token and self.session_token.reveal(),
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in said.items() if value}
