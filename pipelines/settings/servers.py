"""What listens: pages, APIs, SQL, metrics."""

from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field, field_validator, model_validator

from pipelines.kafka_security import is_loopback
from pipelines.secret import Secret, SecretAddress, SecretGroup


class Airflow(SecretGroup, frozen=True):
    """The embedded Airflow, which commands jobs and carries no data."""

    PREFIX: ClassVar[str] = "PTS_AIRFLOW__"

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address on which Airflow listens. Any other than the loopback interface's opens it, behind its "
        "logins, to a network without TLS: put a proxy before it.",
    )
    port: int = Field(default=8080, ge=1, le=65535, description="Port of Airflow's pages and API.")
    python: Path | None = Field(
        default=None,
        description="The Python that runs the commands of tasks, where an Airflow of your own runs them: "
        "/opt/pts/.venv/bin/python. Empty: Airflow's.",
    )
    database: SecretAddress | None = Field(
        default=None,
        description="Where Airflow keeps its own state, as SQLAlchemy writes it: postgresql+psycopg2://user@host/name, "
        "its password in it or in ~/.pgpass. Empty: SQLite in $PTS_HOME/airflow, enough for one machine.",
    )

    @field_validator("database", mode="before")
    @classmethod
    def _empty_is_none(cls, database: Any) -> Any:
        return None if database == "" else database


class Api(BaseModel, frozen=True, extra="forbid"):
    """The customers' API, `pts api`."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address on which it listens. Any other than the loopback interface's opens it to a network, "
        "without TLS: put a proxy before it.",
    )
    port: int = Field(default=8000, ge=1, le=65535, description="Port of the API and of its pages.")
    trusted_proxies: str = Field(
        default="",
        description="Addresses of proxies, separated by commas, whose X-Forwarded-For says who a client is. Empty: "
        "nobody's; behind a proxy all clients are then one, and share its limits.",
    )
    stale_seconds: float = Field(
        default=30.0,
        ge=10,
        description="How long the log may not have been read to its end until reports are no longer shown (503). A "
        "broker's restart should fit in.",
    )
    wait_seconds: float = Field(
        default=5.0, ge=0, le=60, description="How long a question for a report `atLeast` of a position waits for it."
    )
    requests_per_second: float = Field(
        default=2_000.0, gt=0, description="Of all clients together; beyond it, they are asked to come again (503)."
    )
    client_requests_per_second: float = Field(
        default=20.0,
        gt=0,
        description="Of one client, which is an address, or 64 bits of one of IPv6; beyond it 429. Three "
        "seconds' worth may come at once.",
    )
    streams: int = Field(
        default=4_000,
        ge=1,
        description="Most streams, and questions that wait, at a time; each takes some 30 KiB. Beyond it 503.",
    )
    client_streams: int = Field(
        default=50, ge=1, description="The same of one client, as all browsers of an office are; beyond it 429."
    )

    @property
    def url(self) -> str:
        """The address of its pages."""
        return _web_address(self.host, self.port)


class Board(SecretGroup, frozen=True):
    """The board, `pts board`."""

    PREFIX: ClassVar[str] = "PTS_BOARD__"

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address on which it listens. Any other than the loopback interface's needs a user and a "
        "password, and opens it to a network without TLS: put a proxy before it.",
    )
    port: int = Field(default=8010, ge=1, le=65535, description="Port of the board.")
    user: str = Field(default="", description="Who may look, by HTTP Basic. Empty: whoever reaches the port.")
    password: Secret | None = Field(default=None, description="The user's password.")

    @model_validator(mode="after")
    def _is_closed(self) -> "Board":
        if bool(self.user) != (self.password is not None):
            raise ValueError("PTS_BOARD__USER and PTS_BOARD__PASSWORD are given together, or neither of them")
        if ":" in self.user:
            raise ValueError("PTS_BOARD__USER has a colon, which HTTP Basic cannot tell from the password's")
        if self.password is None and not is_loopback(self.host):
            raise ValueError(
                f"PTS_BOARD__HOST={self.host} would open the board to a network: set PTS_BOARD__USER and "
                "PTS_BOARD__PASSWORD, too"
            )
        return self

    @property
    def url(self) -> str:
        """The address of its pages."""
        return _web_address(self.host, self.port)


class SqlServer(BaseModel, frozen=True, extra="forbid"):
    """SQL for tools that speak JDBC or ODBC, `pts sql-server`, on the loopback interface alone."""

    host: ClassVar[str] = "127.0.0.1"

    port: int = Field(default=10000, ge=1, le=65535, description="Port of `pts sql-server`, on 127.0.0.1.")
    query_timeout_seconds: int = Field(
        default=600,
        ge=0,
        description="A query that keeps the server busy for longer is cancelled; what its client takes to read rows "
        "does not count. A client may set less for itself. A higher one lets a mistaken join keep the processors from "
        "others for longer. 0: no limit.",
    )

    @property
    def url(self) -> str:
        """Where it is, for JDBC."""
        return f"jdbc:hive2://{self.host}:{self.port}"


class Metrics(BaseModel, frozen=True, extra="forbid"):
    """What Prometheus reads, at `/metrics`, on the loopback interface alone. The board has its own at its own port."""

    port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port of the metrics of `pts stream`, on 127.0.0.1; infra/prometheus expects 9464. 0: none.",
    )
    api_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port of the metrics of `pts api`, on 127.0.0.1, not that of its clients; infra/prometheus "
        "expects 9465. 0: none.",
    )
    sql_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port of the metrics of `pts sql-server`, on 127.0.0.1; infra/prometheus expects 9466. 0: none.",
    )
    seal_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port of the metrics of `pts seal`, on 127.0.0.1; infra/prometheus expects 9467. 0: none.",
    )


def _web_address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
