"""A package's report as customers get it, and its place on the topic package-reports."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic.alias_generators import to_camel

from pipelines.contracts.topics import PACKAGE_REPORTS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import InvalidInput

LARGEST = 2**63 - 1
DIGITS = re.compile(r"[0-9]{1,19}", re.ASCII)
POSITION = re.compile(rf"({PACKAGE_REPORTS.name}|{SHIP_EVENTS.name}|{SHIP_ROUTES.name})/([0-9]{{1,9}})@([0-9]{{1,18}})")


def _in_utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Moment = Annotated[AwareDatetime, PlainSerializer(_in_utc, return_type=str)]
Offset = Annotated[int, Field(ge=0, le=LARGEST)]


class Report(BaseModel):
    """The report of a package, as the topic package-reports tells it.

    `event…` and `route…` are the places on the log of the latest scan and of the route in force; null where there is
    none yet.
    """

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="ignore")

    tracking_number: Annotated[int, Field(ge=1, le=LARGEST)]
    occurred_at: Annotated[Moment | None, Field(description="When the latest scan happened, in UTC.")]
    number_of_remaining_stops: Annotated[
        int | None, Field(description="endStopId - currentStopId; null until both are known. Below 0 beyond the route.")
    ]
    current_stop_id: int | None
    end_stop_id: int | None
    status_code: Annotated[
        str | None, Field(description="CR, PU, IT, OD, DL, DF, EX, RT; or whatever else a carrier has sent.")
    ]
    event_kafka_partition: int | None
    event_kafka_offset: Offset | None
    event_kafka_timestamp: Moment | None
    route_kafka_partition: int | None
    route_kafka_offset: Offset | None
    route_kafka_timestamp: Moment | None


class PlacedReport(Report):
    """The report of a package, with where it stands on the topic package-reports.

    A later report of the same package is further on in the same partition.
    """

    position: Annotated[str, Field(examples=["package-reports/2@88"], description="Give it as `atLeast`.")]


EXAMPLE = {
    "position": "package-reports/2@88",
    "trackingNumber": 42,
    "occurredAt": "2026-01-04T15:21:06.903000Z",
    "numberOfRemainingStops": 4,
    "currentStopId": 9,
    "endStopId": 13,
    "statusCode": "IT",
    "eventKafkaPartition": 2,
    "eventKafkaOffset": 5113,
    "eventKafkaTimestamp": "2026-01-04T15:21:09.120000Z",
    "routeKafkaPartition": 2,
    "routeKafkaOffset": 10,
    "routeKafkaTimestamp": "2026-01-01T00:29:32.200000Z",
}


@dataclass(frozen=True)
class Entry:
    """What the topic says last of a package, and where.

    `report` is JSON without line breaks. `unreadable`: a message that is no report; what the package's report is,
    nobody knows then. `gone`: a tombstone.
    """

    partition: int
    offset: int
    kind: Literal["report", "unreadable", "gone"]
    report: bytes = b""

    @property
    def placed(self) -> bytes:
        """The report with its position, as JSON."""
        position = f'{{"position":"{PACKAGE_REPORTS.name}/{self.partition}@{self.offset}",'
        return position.encode() + self.report[1:]

    def is_at_least(self, position: "Position") -> bool:
        """Whether the report names a scan or a route that is at the position of its topic, or after it."""
        known = json.loads(self.report)
        kind = "event" if position.topic == SHIP_EVENTS.name else "route"
        offset = known[f"{kind}KafkaOffset"]
        return known[f"{kind}KafkaPartition"] == position.partition and offset is not None and offset >= position.offset


@dataclass(frozen=True)
class Position:
    """A record's place on the log."""

    topic: str
    partition: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> "Position":
        """The position that `topic/partition@offset` names. Raises `InvalidInput` for another text."""
        if not (found := POSITION.fullmatch(text)):
            raise InvalidInput("A position is written as package-reports/2@88, of one of the three topics.")
        return cls(found[1], int(found[2]), int(found[3]))


def entry_of(number: int, partition: int, offset: int, value: bytes | None) -> Entry:
    """What a message about the package says."""
    if value is None:
        return Entry(partition, offset, "gone")
    try:
        report = Report.model_validate_json(value, strict=True)
    except ValidationError:
        return Entry(partition, offset, "unreadable")
    if report.tracking_number != number:
        return Entry(partition, offset, "unreadable")
    return Entry(partition, offset, "report", report.model_dump_json(by_alias=True).encode())


def number_of(key: bytes | None) -> int | None:
    """The package that a message is about; None for a key that is no tracking number."""
    return number_in((key or b"").decode("ascii", "replace"))


def number_in(text: str) -> int | None:
    """The tracking number that a text is; None for one that is none."""
    number = int(text) if DIGITS.fullmatch(text) else 0
    return number if 1 <= number <= LARGEST else None
