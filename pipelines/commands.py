"""Each command once: its validated parameters, with their defaults, and how they are given on the command line.

`pts` takes its options, their defaults and their help from these models (`pipelines.cli.parameters`). Nothing here
imports an engine, so a DAG builds its command from them, too: `["pts", *Stream(drain=True).argv()]`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from pipelines.contracts.rules import Reason
from pipelines.tables import EXPECTED
from pipelines.wire_format import WireFormat

Engine = Literal["duckdb", "spark"]
MAX_BATCH = 2**63 - 1
InputTopic = Literal["ship-events", "ship-routes"]
GivenAs = Literal["message", "lines", "records"]
STANDARD_INPUT = "-"


def _in_utc(value: object) -> object:
    """A time without an offset is UTC, whatever the machine's time zone."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) and moment.tzinfo is None else moment


def _seconds(duration: object) -> object:
    """The seconds of `30s`, `5m` or `1h`; anything that is no text as it is."""
    if not isinstance(duration, str):
        return duration
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", duration)
    if not match:
        raise ValueError(f"{duration!r} is no duration. Write 30s, 5m, 1h, or a number of seconds")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


Named = Literal["replay", "gold table", "window table", "expected table"]
"""What a parameter names, where a shell can complete it."""


@dataclass(frozen=True)
class Argument:
    """A parameter that is given by its place."""

    help: str
    names: Named | None = None


@dataclass(frozen=True)
class Option:
    """A parameter that is given by its name, `--dry-run`; its former names are understood, and not shown."""

    name: str
    help: str
    former_names: tuple[str, ...] = ()
    names: Named | None = None


Given = Argument | Option


def written(value: object) -> str:
    """The text by which a value is given on the command line."""
    return value.isoformat() if isinstance(value, datetime) else str(value.value if isinstance(value, Enum) else value)


class Command(BaseModel):
    """Parameters of one command.

    Attributes:
        words: What stands after `pts`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: ClassVar[tuple[str, ...]]

    @classmethod
    def given(cls) -> dict[str, Given]:
        """How each parameter is given, by its name; options and arguments in the order of the fields."""
        return {
            name: next(each for each in field.metadata if isinstance(each, Given))
            for name, field in cls.model_fields.items()
        }

    def argv(self) -> list[str]:
        """The arguments after `pts` that parse back to this command."""
        given = self.given()
        options = [part for name, how in given.items() if isinstance(how, Option) for part in self._option(name, how)]
        arguments = [text for name, how in given.items() if isinstance(how, Argument) for text in self._values(name)]
        # A text of any kind may begin with a dash.
        return [*self.words, *options, *(["--"] if any(text.startswith("-") for text in arguments) else []), *arguments]

    def _option(self, name: str, how: Option) -> Iterator[str]:
        value = getattr(self, name)
        if value is True:
            yield how.name
        elif value != type(self).model_fields[name].default:
            for text in self._values(name):
                yield from (how.name, text)

    def _values(self, name: str) -> list[str]:
        value = getattr(self, name)
        return [written(each) for each in (value if isinstance(value, tuple) else (value,)) if each is not None]


AtBatch = Annotated[int | None, Field(ge=0, le=MAX_BATCH)]
AS_OF_BATCH = Option("--at-batch", "The tables as they were after this batch.")
UP_TO_BATCH = Option("--at-batch", "The batch up to which; the newest at which all tables agree.", ("--fence",))
Moment = Annotated[AwareDatetime, BeforeValidator(_in_utc)]


class Stream(Command):
    """The continuous job.

    Attributes:
        drain: Takes in what is in the log at its start and no more.
        new_checkpoint: Goes on from the ledger's last row without the checkpoint, which is lost.
        standby: Waits for as long as another process writes the lake, and goes on in its place.
    """

    words = ("stream",)
    drain: Annotated[bool, Option("--drain", "Process what is in the log now, then end.")] = False
    new_checkpoint: Annotated[
        bool,
        Option("--new-checkpoint", "Go on from where the ledger ends, without the checkpoint: it is lost or torn."),
    ] = False
    standby: Annotated[
        bool, Option("--standby", "Wait while another process writes the lake, with Java warm, and take its place.")
    ] = False


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

    words = ("simulate",)
    seed: Annotated[int, Option("--seed", "The same seed gives byte-identical records.")] = Field(default=42, ge=0)
    packages: Annotated[int, Option("--packages", "Packages in the simulated world.")] = Field(default=20_000, ge=1)
    rate: Annotated[float, Option("--rate", "Records per second; 0: as fast as possible.")] = Field(
        default=2_000, ge=0, allow_inf_nan=False
    )
    duration_seconds: Annotated[
        float | None,
        BeforeValidator(_seconds),
        Option("--duration", "End after this time: 30s, 5m, 1h, or seconds."),
    ] = Field(default=None, gt=0, allow_inf_nan=False)
    count: Annotated[int | None, Option("--count", "End after this many records.")] = Field(default=None, ge=1)
    start: Annotated[Moment, Option("--start", "Event time of the first record.")] = datetime(2026, 1, 1, tzinfo=UTC)
    resume: Annotated[bool, Option("--resume", "Go on where the feed was cut off: leave out what the topics hold.")] = (
        False
    )

    @model_validator(mode="after")
    def _ends_once(self) -> "Simulate":
        if self.duration_seconds is not None and self.count is not None:
            raise ValueError("a feed ends after a duration or after a count of records: give one of them")
        return self


class Topics(Command):
    """Creates the topics of the contract, or requires them."""

    words = ("topics",)


class Seal(Command):
    """Records of the intake topics, sealed, into the kept ones.

    Attributes:
        drain: Moves what is there at its start and no more.
        new_keys: Makes a key store beside kept topics that hold records: those that were sealed by another one stay so.
        skip_lost: Goes on with the oldest record that is left where intake has deleted some that were not moved.
    """

    words = ("seal",)
    drain: Annotated[bool, Option("--drain", "Move what is in the intake topics now, then end.")] = False
    new_keys: Annotated[bool, Option("--new-keys", "Make a key store though the kept topics have records already.")] = (
        False
    )
    skip_lost: Annotated[bool, Option("--skip-lost", "Go on where intake topics have deleted records too early.")] = (
        False
    )


class Erase(Command):
    """The key of a package destroyed, and its report withdrawn."""

    words = ("erase",)
    tracking_number: Annotated[int, Argument("The package, for example 42.")] = Field(gt=0, lt=2**63)


class Certificates(Command):
    """Renews the embedded broker's certificates where they are near their end."""

    words = ("certificates",)


class SqlShell(Command):
    """SQL queries over the Delta tables as they are; with `at_batch`, as they were after that batch."""

    words = ("sql",)
    engine: Annotated[Engine, Option("--engine", "duckdb answers at once; spark speaks Spark SQL.")] = "duckdb"
    at_batch: Annotated[AtBatch, AS_OF_BATCH] = None


class Sql(SqlShell):
    """One SQL query over the Delta tables."""

    query: Annotated[str, Argument('For example "SELECT * FROM gold.remaining_stops LIMIT 5".')] = Field(min_length=1)


class Snapshot(Command):
    """The version of every table after a batch at which they agree; the newest such batch when none is named."""

    words = ("snapshot",)
    at_batch: Annotated[
        AtBatch, Option("--at-batch", "The batch; the newest at which all tables agree.", ("--batch",))
    ] = None


class Report(Command):
    """One package: its report, its route and its scans; with `explain`, where on the way each of them was when."""

    words = ("report",)
    tracking_number: Annotated[int, Argument("The package, for example 42.")] = Field(gt=0)
    explain: Annotated[bool, Option("--explain", "Also which batches made it, and how it changed.")] = False


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

    words = ("judge",)
    topic: Annotated[InputTopic, Argument("To which the messages would be sent.")]
    file: Annotated[str, Argument("Where they are; - is the standard input.")] = Field(
        default=STANDARD_INPUT, min_length=1
    )
    given_as: Annotated[
        GivenAs, Option("--as", "All bytes are one value; each line is one; or a JSON array of records.")
    ] = "message"
    wire_format: Annotated[
        WireFormat | None, Option("--format", "How values are written; as the settings say without.")
    ] = None
    key: Annotated[str | None, Option("--key", "The message's key; its rule is left out without.")] = None
    timestamp: Annotated[
        Moment | None,
        Option("--timestamp", "The Kafka timestamp, ISO 8601; whether a time fits it is left out without."),
    ] = None

    @model_validator(mode="after")
    def _says_each_once(self) -> "Judge":
        if self.key is not None and self.given_as != "message":
            raise ValueError("--key is the key of one message: give --as records, where each has its own")
        if self.timestamp is not None and self.given_as == "records":
            raise ValueError("--timestamp is for a message or for lines: each record has its own")
        return self


class Rebuild(Command):
    """Gold tables rebuilt from silver."""

    words = ("rebuild",)
    tables: Annotated[tuple[str, ...], Argument("For example gold.stop_activity.", "gold table")] = Field(min_length=1)


class Expire(Command):
    """Rows of the gold tables that are older than their retention removed; with `dry_run`, only counted."""

    words = ("expire",)
    dry_run: Annotated[bool, Option("--dry-run", "Only count what would go.")] = False


class Compact(Command):
    """Small files of the tables joined, and those removed that nobody needs; with `dry_run`, only counted."""

    words = ("compact",)
    dry_run: Annotated[bool, Option("--dry-run", "Only tell what would be done.")] = False


class Check(Command):
    """The truths about tables, or about all of them, at a batch at which they agree; at the newest one without."""

    words = ("check",)
    tables: Annotated[tuple[str, ...], Option("--table", "A table; all of them without.", names="expected table")] = ()
    at_batch: Annotated[AtBatch, AS_OF_BATCH] = None

    @field_validator("tables")
    @classmethod
    def _have_expectations(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [table.name for table in EXPECTED]
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"there are no expectations of {', '.join(unknown)}; there are of {', '.join(known)}")
        return names


class Backfill(Command):
    """Window tables' rows of an interval of event time recomputed; with `dry_run`, only compared.

    Attributes:
        begin, end: The interval, `[begin, end)`.
        tables: Of which tables; all with windows when none is given.
        dry_run: Writes nothing.
    """

    words = ("backfill",)
    begin: Annotated[Moment, Option("--from", "First moment (ISO 8601; UTC without an offset).")]
    end: Annotated[Moment, Option("--to", "First moment after.")]
    tables: Annotated[
        tuple[str, ...],
        Option("--table", "A table with windows; all of them without.", ("--tables",), "window table"),
    ] = ()
    dry_run: Annotated[bool, Option("--dry-run", "Only tell what would change.")] = False

    @model_validator(mode="after")
    def _is_an_interval(self) -> "Backfill":
        if self.begin >= self.end:
            raise ValueError("an interval ends after it begins")
        return self


class Verify(Command):
    """The proof that the tables hold what the ledger says."""

    words = ("verify",)


REPLAY_ID = r"^[0-9a-z][0-9a-z-]{0,62}$"
ReplayId = Annotated[
    str, Field(pattern=REPLAY_ID), Argument("The replay's name: lower-case letters, digits, dashes.", "replay")
]


class ReplayPlan(Command):
    """What a replay up to `at_batch`, a batch of the ledger, would read and need; the newest complete one without."""

    words = ("replay", "plan")
    at_batch: Annotated[AtBatch, UP_TO_BATCH] = None


class ReplayBuild(Command):
    """The log up to `at_batch` through the code of today, into tables of its own; goes on with one that was cut off."""

    words = ("replay", "build")
    replay_id: ReplayId
    at_batch: Annotated[AtBatch, UP_TO_BATCH] = None


class ReplayCompare(Command):
    """Live and shadow at the as-of batch, row for row.

    Attributes:
        replay_id: The replay.
        expect: Differences that are declared: `schema.table`, or `schema.table.column`.
        html: Where to write the page; beside the shadow's tables when not given.
    """

    words = ("replay", "compare")
    replay_id: ReplayId
    expect: Annotated[
        tuple[str, ...],
        Option("--expect", "A difference that is right: schema.table, or schema.table.column.", names="expected table"),
    ] = ()
    html: Annotated[str | None, Option("--html", "Where to write the page.")] = None


class ReplayPromote(Command):
    """A replay's tables in place of the live ones."""

    words = ("replay", "promote")
    replay_id: ReplayId


class ReplayRollback(Command):
    """The tables as they were before a promotion, and what the log has told since."""

    words = ("replay", "rollback")
    replay_id: ReplayId


class ReplayVerify(Command):
    """The proof that the tables are what the log says: a replay that is compared, and dropped when it is identical."""

    words = ("replay", "verify")
    at_batch: Annotated[AtBatch, UP_TO_BATCH] = None


class ReplayList(Command):
    """The replays of the lake."""

    words = ("replay", "list")


class ReplayDrop(Command):
    """A replay and its tables deleted."""

    words = ("replay", "drop")
    replay_id: ReplayId


class QuarantineShow(Command):
    """The newest records that were rejected for a reason."""

    words = ("quarantine", "show")
    reason: Annotated[Reason, Option("--reason", "Why they were rejected.")]
    limit: Annotated[int, Option("--limit", "Most records.")] = Field(default=10, ge=1, le=10_000)


class QuarantineRedrive(Command):
    """Records that were rejected for these reasons judged again; with `dry_run`, only counted."""

    words = ("quarantine", "redrive")
    reasons: Annotated[tuple[Reason, ...], Option("--reason", "Why they had been rejected; may be given again.")] = (
        Field(min_length=1)
    )
    dry_run: Annotated[bool, Option("--dry-run", "Only count what would be accepted.")] = False


class Health(Command):
    """How the running system does, measured against its limits."""

    words = ("health",)


class Alert(Command):
    """A message to those who are on call; the same, but for numbers, is not sent again for a while, unless `always`."""

    words = ("alert",)
    subject: Annotated[str, Argument("What happened, in a few words.")] = Field(min_length=1, max_length=200)
    text: Annotated[str, Argument("What is known, and what to do.")] = ""
    always: Annotated[bool, Option("--always", "Also if the same was sent a while ago.")] = False


class Requests(Command):
    """The replays that are asked for on the topic pts-control."""

    words = ("requests",)


class Api(Command):
    """The customers' API, in the foreground."""

    words = ("api",)


class Board(Command):
    """The board, in the foreground."""

    words = ("board",)


class SqlServer(Command):
    """The lake's tables for tools that speak JDBC or ODBC, in the foreground."""

    words = ("sql-server",)


class Broker(Command):
    """The embedded broker, in the foreground."""

    words = ("broker",)


class Airflow(Command):
    """A command of Airflow's own, in the embedded Airflow: `api-server`, `backfill create …`, anything else it has."""

    words = ("airflow",)
    arguments: Annotated[tuple[str, ...], Argument("For example: backfill create --help")] = Field(min_length=1)
