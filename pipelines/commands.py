"""Each command's validated parameters, and the arguments that give them on the command line.

Nothing here imports an engine, so a DAG builds its command from these models: `["pts", *Stream(drain=True).argv()]`.
"""

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Engine = Literal["duckdb", "spark"]


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
    """The continuous job; with `drain`, all that is in the log at its start and no more."""

    drain: bool = False

    def argv(self) -> list[str]:
        return ["stream", *(["--drain"] if self.drain else [])]


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


class Sql(Command):
    """One SQL query over the Delta tables."""

    query: str = Field(min_length=1)
    engine: Engine = "duckdb"

    def argv(self) -> list[str]:
        return ["sql", "--engine", self.engine, "--", self.query]


class Report(Command):
    """One package: its report, its route and its scans."""

    tracking_number: int = Field(gt=0)

    def argv(self) -> list[str]:
        return ["report", str(self.tracking_number)]


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


class Broker(Command):
    """The embedded broker, in the foreground."""

    def argv(self) -> list[str]:
        return ["broker"]
