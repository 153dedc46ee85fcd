"""The three topics: keys, wire fields and the broker settings that the guarantees need.

Limits of the JSON form, beyond which a value is malformed (Jackson's `StreamReadConstraints` as Spark uses them): 999
levels of nesting, numbers of 1,000 digits, member names of 50,000 characters, strings of 20,000,000 characters. Member
names must be distinct. Characters are counted in UTF-16, where one beyond the basic plane is two.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

FieldKind = Literal["integer", "timestamp", "text"]

MAX_NUMBER_DIGITS = 1_000
"""The longest JSON number that is read: integer part, fraction and exponent together."""

MAX_JSON_LEVELS = 999
"""Deepest nesting that is read; the outer object counts as 1."""

MAX_NAME_CHARACTERS = 50_000
"""The longest name of a JSON member that is read."""


HOUR_MS = 3_600_000

LARGEST_INTAKE_BYTES = 8 << 20
"""The largest record of an intake topic: its envelope, a third larger, must fit the kept one. Brokers hold these topics
uncompressed, so that they measure the record itself, and refuse its producer one that is larger: what a compression
makes of it, an envelope undoes.
"""


@dataclass(frozen=True)
class WireField:
    """One field of a value: its name on the wire, its column in silver, and how it is read.

    An `integer` is an optional sign and ASCII digits that fit 64 bits. A `timestamp` is `yyyy-MM-dd`, `T` or a space,
    `HH:mm:ss`, up to 9 fractional digits (truncated to microseconds), then nothing (UTC), `Z` or an offset `+hh:mm`
    within 18 hours.
    """

    name: str
    column: str
    kind: FieldKind
    is_required: bool = False


@dataclass(frozen=True)
class Topic:
    """A topic as producers and consumers may rely on it. The key is always the tracking number, as a decimal string."""

    name: str
    doc: str
    cleanup_policy: Literal["delete", "compact"]
    fields: tuple[WireField, ...] = ()
    """The fields of a value, in the order of the CSV columns; members of a JSON object have the same names."""
    config: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def table_name(self) -> str:
        """The name, without its layer, of the tables that have the topic's records: `ship_events`."""
        return self.name.replace("-", "_")

    @property
    def broker_config(self) -> dict[str, str]:
        """Topic settings that `pts topics` applies, and requires where the topic exists."""
        return {"cleanup.policy": self.cleanup_policy, "message.timestamp.type": "CreateTime", **self.config}


SHIP_EVENTS = Topic(
    name="ship-events",
    doc="Package scans, one record each, kept for ever.",
    cleanup_policy="delete",
    config={"retention.ms": "-1", "retention.bytes": "-1"},
    fields=(
        WireField("trackingNumber", "tracking_number", "integer", is_required=True),
        WireField("occurredAt", "occurred_at", "timestamp", is_required=True),
        WireField("eventCode", "event_code", "text", is_required=True),
        WireField("statusCode", "status_code", "text"),
        WireField("statusDescription", "status_description", "text"),
        WireField("carrierCode", "carrier_code", "text"),
        WireField("country", "country", "text"),
        WireField("state", "state", "text"),
        WireField("city", "city", "text"),
        WireField("postalCode", "postal_code", "text"),
        WireField("currentStopId", "current_stop_id", "integer", is_required=True),
    ),
)

SHIP_ROUTES = Topic(
    name="ship-routes",
    doc="Routes of packages: the last one is in force, a null value withdraws it. Kept for ever.",
    cleanup_policy="delete",
    config={"retention.ms": "-1", "retention.bytes": "-1"},
    fields=(
        WireField("routeId", "route_id", "integer", is_required=True),
        WireField("trackingNumber", "tracking_number", "integer", is_required=True),
        WireField("endStopId", "end_stop_id", "integer", is_required=True),
    ),
)

PACKAGE_REPORTS = Topic(
    name="package-reports",
    doc="The report of a package each time it changes, as JSON. At least once: the coordinates in a message make a "
    "repeat recognisable. Of a statusCode, the first 1,000 characters are told.",
    cleanup_policy="compact",
)

INPUT_TOPICS = (SHIP_EVENTS, SHIP_ROUTES)


def intake_of(topic: Topic, hours: int) -> Topic:
    """Where producers write instead, where personal fields are sealed: for so many hours, in clear."""
    return replace(
        topic,
        name=f"{topic.name}-intake",
        doc=f"What is to be sealed on its way to {topic.name}.",
        config={
            "retention.ms": str(hours * HOUR_MS),
            "segment.ms": str(HOUR_MS),
            "max.message.bytes": str(LARGEST_INTAKE_BYTES),
            "compression.type": "uncompressed",
        },
    )


TOPICS = (*INPUT_TOPICS, PACKAGE_REPORTS)
