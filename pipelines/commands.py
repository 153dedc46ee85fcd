"""Each command's validated parameters, and the arguments that give them on the command line.

Nothing here imports an engine, so a DAG builds its command from these models: `["pts", *Stream(drain=True).argv()]`.
"""

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from pipelines.contracts.rules import Reason
from pipelines.settings import WireFormat
from pipelines.tables import EXPECTED

Engine = Literal["duckdb", "spark"]
MAX_BATCH = 2**63 - 1
InputTopic = Literal["ship-events", "ship-routes"]
GivenAs = Literal["message", "lines", "records"]
STANDARD_INPUT = "-"


def _in_utc(value: object) -> object:
    """A time without an offset is UTC, whatever the machine's time zone."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) and moment.tzinfo is None else moment


class Command(BaseModel, ABC):
    """Parameters of one command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def argv(self) -> list[str]:
        """The arguments after `pts` that parse back to this command."""


class Stream(Command):
    """The continuous job.

    Attributes:
        drain: Takes in what is in the log at its start and no more.
        new_checkpoint: Goes on from the ledger's last row without the checkpoint, which is lost.
    """

    drain: bool = False
    new_checkpoint: bool = False

    def argv(self) -> list[str]:
        options = {"--drain": self.drain, "--new-checkpoint": self.new_checkpoint}
        return ["stream", *(option for option, is_given in options.items() if is_given)]


class Simulate(Command):
    """A believable feed to the input topics. The same parameters give byte-identical records.

    Attributes:
        seed: Names the simulated world.
        packages: Packages in it.
        rate: Records per second; 0 is as fast as possible.
        duration_seconds: Ends the feed after this time.
        count: Ends the feed after this many records.
        start: Event time of the first record.
        resume: Goes on where the feed was cut off: leaves out as many records as the input topics hold.
    """

    seed: int = Field(default=42, ge=0)
    packages: int = Field(default=20_000, ge=1)
    rate: float = Field(default=2_000, ge=0, allow_inf_nan=False)
    duration_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    count: int | None = Field(default=None, ge=1)
    start: Annotated[AwareDatetime, BeforeValidator(_in_utc)] = datetime(2026, 1, 1, tzinfo=UTC)
    resume: bool = False

    @model_validator(mode="after")
    def _ends_once(self) -> "Simulate":
        if self.duration_seconds is not None and self.count is not None:
            raise ValueError("a feed ends after a duration or after a count of records: give one of them")
        return self

    def argv(self) -> list[str]:
        options: dict[str, object | None] = {
            "--seed": self.seed,
            "--packages": self.packages,
            "--rate": self.rate,
            "--duration": self.duration_seconds,
            "--count": self.count,
            "--start": self.start.isoformat(),
        }
        return [
            "simulate",
            *(part for name, value in options.items() if value is not None for part in (name, str(value))),
            *(["--resume"] if self.resume else []),
        ]


class Topics(Command):
    """Creates the topics of the contract, or insists on them."""

    def argv(self) -> list[str]:
        return ["topics"]


class Certificates(Command):
    """Renews the embedded broker's certificates where they are near their end."""

    def argv(self) -> list[str]:
        return ["certificates"]


class Sql(Command):
    """One SQL query over the Delta tables as they are; with `at_batch`, as they were after that batch."""

    query: str = Field(min_length=1)
    engine: Engine = "duckdb"
    at_batch: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    def argv(self) -> list[str]:
        at_batch = [] if self.at_batch is None else ["--at-batch", str(self.at_batch)]
        return ["sql", "--engine", self.engine, *at_batch, "--", self.query]


class Snapshot(Command):
    """The version of every table after a batch at which they agree; the newest such batch when none is named."""

    batch: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    def argv(self) -> list[str]:
        return ["snapshot", *([] if self.batch is None else ["--batch", str(self.batch)])]


class Report(Command):
    """One package: its report, its route and its scans; with `explain`, where on the way each of them was when."""

    tracking_number: int = Field(gt=0)
    explain: bool = False

    def argv(self) -> list[str]:
        return ["report", str(self.tracking_number), *(["--explain"] if self.explain else [])]


class Judge(Command):
    """The rules' verdicts on messages that nobody has sent yet.

    Attributes:
        topic: To which they would be sent.
        file: Where they are; `-` is the standard input.
        given_as: One message, whose value is all bytes; one value a line; or a JSON array of records.
        wire_format: How values are written; as the deployment's settings say when not given.
        key: The key of the one message.
        timestamp: The Kafka timestamp that the message, or each line, would have.
    """

    topic: InputTopic
    file: str = Field(default=STANDARD_INPUT, min_length=1)
    given_as: GivenAs = "message"
    wire_format: WireFormat | None = None
    key: str | None = None
    timestamp: Annotated[AwareDatetime, BeforeValidator(_in_utc)] | None = None

    @model_validator(mode="after")
    def _says_each_once(self) -> "Judge":
        if self.key is not None and self.given_as != "message":
            raise ValueError("--key is the key of one message: give --as records, where each has its own")
        if self.timestamp is not None and self.given_as == "records":
            raise ValueError("--timestamp is for a message or for lines: each record has its own")
        return self

    def argv(self) -> list[str]:
        options: dict[str, object | None] = {
            "--format": self.wire_format,
            "--key": self.key,
            "--timestamp": self.timestamp and self.timestamp.isoformat(),
        }
        given = [part for name, value in options.items() if value is not None for part in (name, str(value))]
        return ["judge", "--as", self.given_as, *given, "--", self.topic, self.file]


class Rebuild(Command):
    """Gold tables made anew from silver."""

    tables: tuple[str, ...] = Field(min_length=1)

    def argv(self) -> list[str]:
        return ["rebuild", *self.tables]


class Expire(Command):
    """Rows of the gold tables that are older than their retention let go; with `dry_run`, only counted."""

    dry_run: bool = False

    def argv(self) -> list[str]:
        return ["expire", *(["--dry-run"] if self.dry_run else [])]


class Compact(Command):
    """Small files of the tables joined, and those removed that nobody needs; with `dry_run`, only counted."""

    dry_run: bool = False

    def argv(self) -> list[str]:
        return ["compact", *(["--dry-run"] if self.dry_run else [])]


class Check(Command):
    """The truths about tables, or about all of them, at a batch at which they agree; at the newest one without."""

    tables: tuple[str, ...] = ()
    at_batch: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    @field_validator("tables")
    @classmethod
    def _have_expectations(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [table.name for table in EXPECTED]
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"there are no expectations of {', '.join(unknown)}; there are of {', '.join(known)}")
        return names

    def argv(self) -> list[str]:
        tables = [part for name in self.tables for part in ("--table", name)]
        return ["check", *tables, *([] if self.at_batch is None else ["--at-batch", str(self.at_batch)])]


class Backfill(Command):
    """Window tables' rows of an interval of event time made anew; with `dry_run`, only compared.

    Attributes:
        begin, end: The interval, `[begin, end)`.
        tables: Of which tables; all with windows when none is given.
        dry_run: Writes nothing.
    """

    begin: Annotated[AwareDatetime, BeforeValidator(_in_utc)]
    end: Annotated[AwareDatetime, BeforeValidator(_in_utc)]
    tables: tuple[str, ...] = ()
    dry_run: bool = False

    @model_validator(mode="after")
    def _is_an_interval(self) -> "Backfill":
        if self.begin >= self.end:
            raise ValueError("an interval ends after it begins")
        return self

    def argv(self) -> list[str]:
        tables = [part for name in self.tables for part in ("--tables", name)]
        interval = ["--from", self.begin.isoformat(), "--to", self.end.isoformat()]
        return ["backfill", *interval, *tables, *(["--dry-run"] if self.dry_run else [])]


class Verify(Command):
    """The proof that the tables hold what the ledger says."""

    def argv(self) -> list[str]:
        return ["verify"]


REPLAY_ID = r"^[0-9a-z][0-9a-z-]{0,62}$"
ReplayId = Annotated[str, Field(pattern=REPLAY_ID)]


class ReplayPlan(Command):
    """What a replay up to `fence`, a batch of the ledger, would read and need; the newest complete one without."""

    fence: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    def argv(self) -> list[str]:
        return ["replay", "plan", *([] if self.fence is None else ["--fence", str(self.fence)])]


class ReplayBuild(Command):
    """The log up to `fence` through the code of today, into tables of its own; goes on with one that was cut off."""

    replay_id: ReplayId
    fence: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    def argv(self) -> list[str]:
        return ["replay", "build", self.replay_id, *([] if self.fence is None else ["--fence", str(self.fence)])]


class ReplayCompare(Command):
    """Live and shadow at the fence, row for row.

    Attributes:
        replay_id: The replay.
        expect: Differences that are declared: `schema.table`, or `schema.table.column`.
        html: Where to write the page; beside the shadow's tables when not given.
    """

    replay_id: ReplayId
    expect: tuple[str, ...] = ()
    html: str | None = None

    def argv(self) -> list[str]:
        expected = [part for each in self.expect for part in ("--expect", each)]
        return ["replay", "compare", self.replay_id, *expected, *([] if self.html is None else ["--html", self.html])]


class ReplayPromote(Command):
    """A replay's tables in place of the live ones."""

    replay_id: ReplayId

    def argv(self) -> list[str]:
        return ["replay", "promote", self.replay_id]


class ReplayRollback(Command):
    """The tables as they were before a promotion, and what the log has told since."""

    replay_id: ReplayId

    def argv(self) -> list[str]:
        return ["replay", "rollback", self.replay_id]


class ReplayVerify(Command):
    """The proof that the tables are what the log says: a replay that is compared, and dropped when it is identical."""

    fence: int | None = Field(default=None, ge=0, le=MAX_BATCH)

    def argv(self) -> list[str]:
        return ["replay", "verify", *([] if self.fence is None else ["--fence", str(self.fence)])]


class ReplayList(Command):
    """The replays of the lake."""

    def argv(self) -> list[str]:
        return ["replay", "list"]


class ReplayDrop(Command):
    """A replay and its tables deleted."""

    replay_id: ReplayId

    def argv(self) -> list[str]:
        return ["replay", "drop", self.replay_id]


class QuarantineShow(Command):
    """The newest records that were rejected for a reason."""

    reason: Reason
    limit: int = Field(default=10, ge=1, le=10_000)

    def argv(self) -> list[str]:
        return ["quarantine", "show", "--reason", self.reason.value, "--limit", str(self.limit)]


class QuarantineRedrive(Command):
    """Records that were rejected for these reasons judged anew; with `dry_run`, only counted."""

    reasons: tuple[Reason, ...] = Field(min_length=1)
    dry_run: bool = False

    def argv(self) -> list[str]:
        reasons = [part for reason in self.reasons for part in ("--reason", reason.value)]
        return ["quarantine", "redrive", *reasons, *(["--dry-run"] if self.dry_run else [])]


class Health(Command):
    """How the running system does, measured against its limits."""

    def argv(self) -> list[str]:
        return ["health"]


class Alert(Command):
    """A message to those who are on call; the same, but for numbers, is not sent again for a while, unless `always`."""

    subject: str = Field(min_length=1, max_length=200)
    text: str = ""
    always: bool = False

    def argv(self) -> list[str]:
        return ["alert", *["--always"] * self.always, "--", self.subject, self.text]


class Requests(Command):
    """The replays that are asked for on the topic pts-control."""

    def argv(self) -> list[str]:
        return ["requests"]


class Api(Command):
    """The customers' API, in the foreground."""

    def argv(self) -> list[str]:
        return ["api"]


class Broker(Command):
    """The embedded broker, in the foreground."""

    def argv(self) -> list[str]:
        return ["broker"]


class Airflow(Command):
    """A command of Airflow's own, in the embedded Airflow: `api-server`, `backfill create …`, anything else it has."""

    arguments: tuple[str, ...] = Field(min_length=1)

    def argv(self) -> list[str]:
        return ["airflow", *self.arguments]
