"""Deployment settings, from environment variables only: `PTS_` and, for a nested one, `PTS_GROUP__NAME`.

What changes the meaning of rows is code (`contracts/rules.py`), never a setting. `pts settings` prints each value and
where it came from.
"""

import re
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from pipelines.errors import InvalidInput
from pipelines.kafka_security import PREFIX, Security, hosts, is_loopback
from pipelines.secret import (
    Secret,
    SecretAddress,
    SecretGroup,
    SecretProperties,
    is_secret_name,
    of_keyring,
    secret_kinds,
)
from pipelines.wire_format import WireFormat

TimesWithoutOffset = Literal["utc", "quarantine"]
Profile = Literal["plain", "secure"]

CARRIER = "status_description"
"""The column in which an envelope travels: a text that no table is keyed by, counts by or is quoted from (ADR 29)."""

SEALABLE = (CARRIER, "carrier_code", "country", "state", "city", "postal_code")
"""Columns that a deployment may mark as personal: those that neither a rule nor a scan's identity needs."""

SECRET_CONF = "PTS_SPARK__SECRET_CONF"
ALERT_ADDRESS = re.compile(r"log|mailto:[^@\s]+@[^@\s]+|https?://\S+")

FILE_URI = re.compile(r"file:(?://(?:localhost)?)?(/.*)", re.IGNORECASE)
"""A folder of this machine, as a URI."""

STORE_URI = re.compile(r"s3a?://([^/]+(?:/.*?)?)/*", re.IGNORECASE)
"""A name in a bucket of an object store; Hadoop's users know the scheme as s3a."""


class Kafka(BaseModel, frozen=True, extra="forbid"):
    """The log: where it is and how its records are written."""

    bootstrap_servers: str | None = Field(
        default=None,
        description="Brokers as host:port[,host:port]. Empty: the embedded broker. Set: no broker is started and "
        "these are used.",
    )
    partitions: int = Field(
        default=4,
        ge=1,
        description="Partitions of each topic that is created; one that exists keeps its own. Bounds the read "
        "parallelism; it can never be changed afterwards, because all records of a package must stay in one partition.",
    )
    replication_factor: int = Field(
        default=1,
        ge=1,
        description="Copies of each topic, applied at its creation. 1 fits the embedded broker; 3 a cluster.",
    )
    ship_events_format: WireFormat = Field(
        default="csv", description="How the values of topic ship-events are written."
    )
    ship_routes_format: WireFormat = Field(
        default="csv", description="How the values of topic ship-routes are written."
    )
    times_without_offset: TimesWithoutOffset = Field(
        default="utc",
        description="What a scan's time without an offset is: one in UTC, or none (`quarantine`), where carriers are "
        "known to write their local time.",
    )
    lag_group: str = Field(
        default="superfast-pts",
        max_length=200,
        description="Consumer group to which the job's offsets are mirrored after each batch, for tools that watch "
        "lag. It is never read; each lake that shares brokers needs one of its own. Empty: none.",
    )
    security: Security = Security()

    @model_validator(mode="after")
    def _is_private(self) -> "Kafka":
        strangers = [host for host, _ in hosts(self.bootstrap_servers or "") if not is_loopback(host)]
        if strangers and not (self.security.is_encrypted or self.security.allow_plaintext):
            raise ValueError(
                f"{PREFIX}PROTOCOL={self.security.protocol} would send records to {strangers[0]} unencrypted: set it "
                f"to SSL or SASL_SSL, or {PREFIX}ALLOW_PLAINTEXT=true where the network is trusted"
            )
        if not self.bootstrap_servers and self.security != Security():
            raise ValueError(
                f"{PREFIX}… is for brokers that PTS_KAFKA__BOOTSTRAP_SERVERS names; PTS_PROFILE=secure is for the "
                "embedded one"
            )
        return self


class Broker(BaseModel, frozen=True, extra="forbid"):
    """The embedded broker: Apache Kafka, one node on the loopback interface."""

    port: int = Field(default=9092, ge=1, le=65535, description="Port for clients.")
    controller_port: int = Field(
        default=9093, ge=1, le=65535, description="Port of the KRaft controller, used by the broker itself."
    )
    heap_mb: int = Field(
        default=384,
        ge=128,
        le=512,
        description="Java heap in MiB. Kafka serves reads from the page cache, so more heap buys nothing.",
    )


class Spark(SecretGroup, frozen=True):
    """The engine."""

    PREFIX: ClassVar[str] = "PTS_SPARK__"

    master: str = Field(default="local[*]", description="Spark master URL: local[n], spark://host:port, yarn, k8s://…")
    driver_memory_mb: int = Field(
        default=2048,
        ge=1024,
        description="Heap of the driver in MiB; with a local master the whole job lives in it. Below 1 GiB a full "
        "batch spills; above 4 GiB nothing gets faster, because no state is held.",
    )
    shuffle_partitions: int = Field(
        default=2,
        ge=1,
        description="Tasks in which a large batch is read and judged, and of a shuffle: about the number of cores.",
    )
    conf: dict[str, str] = Field(
        default_factory=dict,
        description='More Spark properties as a JSON object, for example {"spark.executor.memory": "4g"}. Those whose '
        "names say that they are secrets count as given by PTS_SPARK__SECRET_CONF.",
    )
    secret_conf: SecretProperties | None = Field(
        default=None,
        description='Spark properties that are secrets, as a JSON object: {"spark.authenticate.secret": "…"}.',
    )

    @model_validator(mode="before")
    @classmethod
    def _secrets_by_themselves(cls, given: Any) -> Any:
        """A property that is named as a secret is one, wherever it was given."""
        conf = given.get("conf") if isinstance(given, dict) else None
        if not isinstance(conf, dict) or not (secrets := {name: conf[name] for name in conf if is_secret_name(name)}):
            return given
        if given.get("secret_conf") or given.get("secret_conf_file"):
            raise ValueError(f"{', '.join(secrets)} of PTS_SPARK__CONF must stand with the others in {SECRET_CONF}")
        plain = {name: value for name, value in conf.items() if name not in secrets}
        return given | {"conf": plain, "secret_conf": secrets}

    def properties(self) -> dict[str, str]:
        """All properties, secrets among them. Raises `InvalidInput` for a file that holds none."""
        return self.conf | (self.secret_conf.properties() if self.secret_conf else {})


class Storage(SecretGroup, frozen=True):
    """How an object store is reached, where PTS_LAKE is in one."""

    PREFIX: ClassVar[str] = "PTS_STORAGE__"

    endpoint: str = Field(
        default="",
        pattern=r"^(https?://[^\s/?#@]+)?$",
        description="Where a store is that is not Amazon's: https://host:port. Beyond this machine it is asked by TLS "
        "alone. Empty: Amazon S3 in the region.",
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
        if self.endpoint.startswith("http://") and not is_loopback(urlsplit(self.endpoint).hostname or ""):
            raise ValueError(
                f"PTS_STORAGE__ENDPOINT={self.endpoint} would be reached in plain text, which only this machine may be"
            )
        return self

    def of_spark(self) -> dict[str, str]:
        """Hadoop's properties that say the same (its client is S3A, here for addresses with `s3:`)."""
        said = {
            "endpoint": self.endpoint,
            "endpoint.region": self.region or "us-east-1",
            "path.style.access": "true" if self.endpoint else "",
            "access.key": self.access_key_id,
            "secret.key": self.secret_access_key and self.secret_access_key.reveal(),
            "session.token": self.session_token and self.session_token.reveal(),
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in said.items() if value}


class Stream(BaseModel, frozen=True, extra="forbid"):
    """The continuous job."""

    max_records_per_batch: int = Field(
        default=1_500_000,
        ge=1,
        description="Most records that one micro-batch takes from the log. Larger batches drain a backlog faster, "
        "need more memory and make a stop take longer: 1,000,000 are some 17 s of work on two cores with a warm JVM, "
        "and 42 s with a cold one. Far below 1,000 the fixed cost of a batch dominates.",
    )
    trigger_seconds: float = Field(
        default=0.0,
        ge=0,
        description="Least time between the starts of two micro-batches. 0: the next one starts when the last is "
        "done and there is something to read.",
    )
    follow_seconds: float = Field(
        default=60.0,
        ge=0,
        description="Seconds between two catch-up rounds of the tables that need not move with every batch: windows "
        "and alerts. Each write costs about the same for few rows as for many. Keep it well below "
        "PTS_HEALTH__FRESHNESS_SECONDS, which alarms when they stay behind.",
    )


class Replay(BaseModel, frozen=True, extra="forbid"):
    """Replays of the log, beside the continuous job."""

    max_records_per_batch: int = Field(
        default=1_500_000, ge=1, description="Most records that one batch of a replay takes from the log."
    )
    wait_above_lag: int = Field(
        default=200_000,
        ge=0,
        description="A replay waits between two batches while the live job is more records than this behind the log.",
    )


class Health(BaseModel, frozen=True, extra="forbid"):
    """Limits of `pts health`: beyond them somebody is to look."""

    heartbeat_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Longest silence of the live job. It beats about once a second, also during a batch; below 10 a "
        "start or a full disk queue alarms.",
    )
    lag_records: int = Field(
        default=1_000_000, ge=0, description="Most records between the log's end and the job: about one full batch."
    )
    lag_seconds: float = Field(
        default=300.0, gt=0, description="Longest time since the log's end was where the job stands now."
    )
    freshness_seconds: float = Field(
        default=600.0,
        gt=0,
        description="How long a batch may be in the ledger before every table has it. Windows catch "
        "up every PTS_STREAM__FOLLOW_SECONDS; below twice that, an ordinary round alarms.",
    )
    airflow_task_seconds: float = Field(
        default=900.0,
        gt=0,
        description="Longest time in which the embedded Airflow starts no task. Two of its DAGs start one every 2 and "
        "every 5 minutes; below some 600, a long task of each alarms.",
    )
    file_count: int = Field(
        default=2_000,
        ge=1,
        description="Most files of one table. Readers open each of them; `pts compact` makes few of many.",
    )


class Alerts(SecretGroup, frozen=True):
    """Where word goes that somebody is to look."""

    PREFIX: ClassVar[str] = "PTS_ALERTS__"

    to: SecretAddress = Field(
        default=SecretAddress("log"),
        description="log: a line in $PTS_HOME/logs/alerts.log. mailto:someone@example.org: an e-mail. https://…: a "
        "POST with a JSON object (subject, text, at).",
    )
    smtp: str = Field(
        default="localhost:25",
        pattern=r"^[^:\s]+:\d+$",
        description="Server for e-mail, as host:port, on a trusted net.",
    )
    sender: str = Field(default="pts@localhost", description="From whom e-mail is.")
    repeat_seconds: float = Field(
        default=3_600.0,
        ge=0,
        description="An alert whose subject and text differ in numbers alone is not sent again for so long, or a fault "
        "that lasts would fill the inbox. 0: always.",
    )

    @field_validator("to")
    @classmethod
    def _is_an_address(cls, to: SecretAddress) -> SecretAddress:
        if not (to.file or ALERT_ADDRESS.fullmatch(to.reveal())):
            raise ValueError("it is neither log nor mailto:someone@example.org nor https://…")
        return to

    def address(self) -> str:
        """Where word goes. Raises `InvalidInput` for a file that says nothing of the kind."""
        found = self.to.reveal()
        if not ALERT_ADDRESS.fullmatch(found):
            raise InvalidInput(
                f"{self.PREFIX}TO_FILE={self.to.file} has neither log nor mailto:someone@example.org nor https://…"
            )
        return found


class Compact(BaseModel, frozen=True, extra="forbid"):
    """What `pts compact` leaves."""

    retention_hours: int = Field(
        default=168,
        ge=24,
        le=168,
        description="How long a file stays after the newest version stopped to need it, in hours: so far back tables "
        "can be read as of a batch, and so long a reader may take. Below a day, a query that runs over night would "
        "lose its files; above a week, Delta's checkpoints no longer tell when a file was replaced. What a replay, its "
        "rollback or the newest consistent batch needs stays for longer.",
    )


class Quality(BaseModel, frozen=True, extra="forbid"):
    """What `pts check` warns of. What makes it fail are rules, so code."""

    freshness_seconds: float = Field(
        default=900.0,
        gt=0,
        description="Warn when the tables last took in records more than this before the check. Below some 120 s the "
        "pace of the windows alone makes it warn. It warns, too, when producers are silent on purpose.",
    )
    negative_stops_share: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Warn when more than this share of the known remaining stops is below 0: scans beyond the end of "
        "their route.",
    )
    quarantined_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Warn when more than this share of the records of the last hour of batches was quarantined. The "
        "simulated feed has about 0.02.",
    )
    volume_factor: float = Field(
        default=3.0,
        gt=1,
        description="Warn when the newest whole hour of event time has this many times more, or fewer, scans than the "
        "same hour of the 7 days before it had on average. Near 1 every quiet Sunday makes it warn.",
    )
    kept_pages: int = Field(
        default=50,
        ge=1,
        description="Pages of so many runs are kept under $PTS_HOME/quality, of some 5 MB each; older ones are "
        "deleted. ops.quality keeps all results.",
    )


class Airflow(SecretGroup, frozen=True):
    """The embedded Airflow, which commands jobs and carries no data."""

    PREFIX: ClassVar[str] = "PTS_AIRFLOW__"

    port: int = Field(
        default=8080, ge=1, le=65535, description="Port of Airflow's pages and API, on the loopback interface."
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
        """Where it is."""
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
        """Where it is."""
        return _web_address(self.host, self.port)


class SqlServer(BaseModel, frozen=True, extra="forbid"):
    """SQL for tools that speak JDBC or ODBC, `pts sql-server`, on the loopback interface alone."""

    host: ClassVar[str] = "127.0.0.1"

    port: int = Field(default=10000, ge=1, le=65535, description="Port of `pts sql-server`, on 127.0.0.1.")

    @property
    def url(self) -> str:
        """Where it is, for JDBC."""
        return f"jdbc:hive2://{self.host}:{self.port}"


def _web_address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


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


class Lineage(BaseModel, frozen=True, extra="forbid"):
    """What was read and written by whom, told as OpenLineage events, for catalogues of data."""

    enabled: bool = Field(
        default=False,
        description="Whether the job, replays and the commands of DAGs append their events to the file.",
    )
    file: Path | None = Field(
        default=None,
        description="The file: one event a line, as JSON. Empty: $PTS_HOME/lineage/events.jsonl. Nothing shortens it; "
        "whoever moves it away finds a new one.",
    )
    every_seconds: float = Field(
        default=60.0,
        ge=0,
        description="The live job tells of its batches at most so often; an event has all since the one before, of "
        "some 6 KB. 0: of each batch.",
    )

    @field_validator("file")
    @classmethod
    def _from_any_folder(cls, file: Path | None) -> Path | None:
        """Services run in other folders than the shell that gives them their settings."""
        return file and _of_the_user(file).absolute()


class Seal(BaseModel, frozen=True, extra="forbid"):
    """Sealing: personal fields reach the kept topics in an envelope, whose key `pts erase` destroys."""

    enabled: bool = Field(
        default=False,
        description="Whether producers write to intake topics, from which `pts seal` moves records into the kept ones. "
        "Turn it on before the first record: what stands on the log in clear stays there.",
    )
    fields: str = Field(
        default="postal_code,city,status_description",
        description="Columns of silver.ship_events that are sealed, separated by commas. status_description is always "
        "one of them, for the envelope travels in it; carrier_code, country and state may be, and nothing is counted "
        "by a column that is.",
    )
    keys: Path | None = Field(
        default=None,
        description="File of the keys. Empty: $PTS_HOME/seal/keys.sqlite. Who can read it reads in clear; who loses it "
        "has lost what was sealed. Keep its backups no longer than an erasure may take to reach them.",
    )
    intake_hours: int = Field(
        default=24,
        ge=1,
        le=96,
        description="How long intake topics keep a record, counted from its timestamp; applied at their creation. `pts "
        "seal` may be away for so long. Above 4 days, brokers begin to forget how far it has come.",
    )
    day_key_days: int = Field(
        default=30,
        ge=1,
        description="How many days the key of a day lives, by which values are sealed whole that were not understood: "
        "so long they can be looked into.",
    )

    @field_validator("fields")
    @classmethod
    def _are_sealable(cls, fields: str) -> str:
        named = [name.strip() for name in fields.split(",")]
        if unknown := sorted(set(named) - set(SEALABLE)):
            raise ValueError(f"{', '.join(unknown)} cannot be sealed; {', '.join(SEALABLE)} can")
        if CARRIER not in named:
            raise ValueError(f"{CARRIER} must be one of them: the envelope travels in it")
        return ",".join(dict.fromkeys(named))

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields, one by one."""
        return tuple(self.fields.split(","))

    @field_validator("keys")
    @classmethod
    def _from_any_folder(cls, keys: Path | None) -> Path | None:
        """Services run in other folders than the shell that gives them their settings."""
        return keys and _of_the_user(keys).absolute()


def _of_the_user(path: Path) -> Path:
    """`~` is the user's folder, as the shell would have it."""
    try:
        return path.expanduser()
    except RuntimeError as error:  # a user whom the system does not know
        raise ValueError(str(error)) from error


class Settings(BaseSettings):
    """All settings of a deployment.

    Raises `InvalidInput` (through `load_settings`) for a value that does not fit its type or range.
    """

    model_config = SettingsConfigDict(
        env_prefix="PTS_", env_nested_delimiter="__", frozen=True, extra="forbid", hide_input_in_errors=True
    )

    home: Path = Field(
        default=Path("var"), description="Folder for the state of the embedded stack: broker data, process files, logs."
    )
    profile: Profile = Field(
        default="plain",
        description="How the embedded broker is reached. plain: by who can log in to this machine, on its loopback "
        "interface. secure: by TLS, with a login (SCRAM-SHA-512) and rights (ACLs) of its own for each service.",
    )
    umask: str = Field(
        default="077",
        pattern=r"^0?[0-7]{3}$",
        description="What new files and folders do not permit, in octal digits as the shell's umask: logs, broker "
        "data, databases, tables. 077: they are this user's alone. 027: this user's group may read them, as analysts "
        "who read the lake. 022: everybody may. What is there already stays as it is.",
    )
    keyring: str = Field(
        default="",
        description="Service under which the system's keyring has secrets, each by the name of its variable: `keyring "
        "set superfast-pts PTS_KAFKA__SECURITY__PASSWORD`. It is asked for those that neither a variable nor a file "
        "gives. Empty: it is not asked.",
    )
    lake: str = Field(
        default="",
        description="Root of the Delta tables and of the job's checkpoint: a folder, or s3://bucket/name in an object "
        "store that knows conditional writes. Empty: $PTS_HOME/lake.",
    )
    kafka: Kafka = Kafka()
    broker: Broker = Broker()
    storage: Storage = Storage()
    spark: Spark = Spark()
    stream: Stream = Stream()
    replay: Replay = Replay()
    health: Health = Health()
    alerts: Alerts = Alerts()
    compact: Compact = Compact()
    quality: Quality = Quality()
    airflow: Airflow = Airflow()
    api: Api = Api()
    board: Board = Board()
    sql: SqlServer = SqlServer()
    metrics: Metrics = Metrics()
    lineage: Lineage = Lineage()
    seal: Seal = Seal()

    @model_validator(mode="before")
    @classmethod
    def _secrets_of_the_keyring(cls, given: Any) -> Any:
        service = given.get("keyring") if isinstance(given, dict) else None
        return _with_secrets(given, cls, "PTS_", service) if service else given

    @field_validator("lake")
    @classmethod
    def _lake_is_a_place(cls, lake: str) -> str:
        if "://" in lake and not (STORE_URI.fullmatch(lake) or FILE_URI.fullmatch(lake)):
            raise ValueError(f"PTS_LAKE={lake} is neither a folder nor s3://bucket/name")
        return lake

    @field_validator("home")
    @classmethod
    def _with_the_users_folder(cls, home: Path) -> Path:
        return _of_the_user(home)

    @model_validator(mode="after")
    def _profile_has_a_broker(self) -> "Settings":
        if self.profile == "secure" and not self.has_embedded_broker:
            raise ValueError(
                f"PTS_PROFILE=secure is for the embedded broker; how those of PTS_KAFKA__BOOTSTRAP_SERVERS are reached "
                f"is {PREFIX}…"
            )
        return self

    @property
    def bootstrap_servers(self) -> str:
        """Where the brokers are: the external ones when set, else the embedded one."""
        return self.kafka.bootstrap_servers or f"127.0.0.1:{self.broker.port}"

    @property
    def has_embedded_broker(self) -> bool:
        return not self.kafka.bootstrap_servers

    @property
    def key_store(self) -> Path:
        """The file of the keys of sealed fields."""
        return self.seal.keys or self.home.resolve() / "seal" / "keys.sqlite"

    @property
    def lineage_file(self) -> Path:
        """The file of lineage events."""
        return self.lineage.file or self.home.resolve() / "lineage" / "events.jsonl"

    @property
    def quality_pages(self) -> Path:
        """Folder of the pages of `pts check`."""
        return self.home.resolve() / "quality"

    @property
    def replay_pages(self) -> Path:
        """Folder of the pages of `pts replay compare`, each in one of its replay's name: with the replay, where that is
        in a folder.
        """
        root = self.lake_root
        return self.home.resolve() / "replays" if "://" in root else Path(root, "_shadow")

    @property
    def lake_root(self) -> str:
        """Absolute root of the lake, without a trailing slash; a folder's path also where it is given as `file:`."""
        root = self.lake or str(self.home / "lake")
        if store := STORE_URI.fullmatch(root):
            return f"s3://{store[1]}"
        if folder := FILE_URI.fullmatch(root):
            root = unquote(folder[1])
        return str(Path(root).expanduser().resolve())


def _with_secrets(given: Any, group: type[BaseModel], prefix: str, service: str) -> Any:
    """What is given of a group, and of the groups in it, with the secrets that the keyring has besides."""
    if not isinstance(given, dict):
        return given
    taken = dict(given)
    for name, secret in secret_kinds(group).items():
        is_given = taken.get(name) is not None or taken.get(f"{name}_file") is not None
        if not is_given and (found := of_keyring(service, f"{prefix}{name.upper()}", secret)):
            taken[name] = found
    for name, field in group.model_fields.items():
        if isinstance(within := field.annotation, type) and issubclass(within, BaseModel):
            there = _with_secrets(taken.get(name, {}), within, f"{prefix}{name.upper()}__", service)
            if there:
                taken[name] = there
    return taken


def load_settings() -> Settings:
    """Reads the environment once. Raises `InvalidInput` naming each variable that does not fit."""
    try:
        return Settings()
    except ValidationError as error:
        faults = "; ".join(
            _named("__".join(str(part) for part in fault["loc"]).upper(), fault["msg"].removeprefix("Value error, "))
            for fault in error.errors()
        )
        raise InvalidInput(
            f"The settings do not fit: {faults}. `pts settings` lists them all with what they mean."
        ) from error
    except SettingsError as error:
        raise InvalidInput(f"The settings do not fit: {error}. A group of settings is a JSON object.") from error


def _named(setting: str, fault: str) -> str:
    """The fault of a setting; one of several settings names them itself."""
    return fault if "PTS_" in fault else f"PTS_{setting}: {fault}"
