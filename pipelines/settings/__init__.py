"""Deployment settings, from environment variables only: `PTS_` and, for a nested one, `PTS_GROUP__NAME`.

What changes the meaning of rows is code (`contracts/rules.py`), never a setting. `pts settings` prints each value and
where it came from.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from pipelines.errors import InvalidInput
from pipelines.kafka_security import PREFIX
from pipelines.lake_root import is_in_store, is_place, replays_root, root_of
from pipelines.secret import with_secrets_of_keyring
from pipelines.settings.jobs import Compact, Replay, Stream
from pipelines.settings.kafka import Broker, Kafka
from pipelines.settings.lineage import Lineage
from pipelines.settings.paths import UserPath
from pipelines.settings.seal import Seal
from pipelines.settings.servers import Airflow, Api, Board, Metrics, SqlServer
from pipelines.settings.spark import Spark
from pipelines.settings.storage import Storage
from pipelines.settings.watch import Alerts, Health, Quality

Profile = Literal["plain", "secure"]


class Settings(BaseSettings):
    """All settings of a deployment.

    Raises `InvalidInput` (through `load_settings`) for a value that does not fit its type or range.
    """

    model_config = SettingsConfigDict(
        env_prefix="PTS_", env_nested_delimiter="__", frozen=True, extra="forbid", hide_input_in_errors=True
    )

    home: UserPath = Field(
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
        return with_secrets_of_keyring(given, cls, "PTS_", service) if service else given

    @field_validator("lake")
    @classmethod
    def _lake_is_a_place(cls, lake: str) -> str:
        if not is_place(lake):
            raise ValueError(f"PTS_LAKE={lake} is neither a folder nor s3://bucket/name")
        return lake

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
        return self.home.resolve() / "replays" if self.is_in_store else Path(replays_root(self.lake_root))

    @property
    def lake_root(self) -> str:
        """Absolute root of the lake, without a trailing slash; a folder's path also where it is given as `file:`."""
        return root_of(self.lake or str(self.home / "lake"))

    @property
    def is_in_store(self) -> bool:
        """Whether the lake is in an object store."""
        return is_in_store(self.lake_root)


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


__all__ = [
    "Airflow",
    "Alerts",
    "Api",
    "Board",
    "Broker",
    "Compact",
    "Health",
    "Kafka",
    "Lineage",
    "Metrics",
    "Profile",
    "Quality",
    "Replay",
    "Seal",
    "Settings",
    "Spark",
    "SqlServer",
    "Storage",
    "Stream",
    "load_settings",
]
