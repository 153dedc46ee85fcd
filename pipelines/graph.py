"""The whole pipeline on one screen: what flows from where into which table.

    ship-events ─┬► silver.ship_events ──┬► gold.remaining_stops ─► package-reports
    ship-routes ─┬► silver.ship_routes ──┘
                 ┊
                 └┄► bronze.ship_events, bronze.ship_routes ┄► silver.quarantine

    silver.ship_events ┬┄► gold.stop_activity ┄► gold.busiest_stops          ops.batches: one row when all of it stands
                       ├┄► gold.carrier_throughput
                       └┄► gold.failed_delivery_alerts

In a micro-batch a flow runs once those above it that it needs are done (`Flow.needs`), beside the others. Live and
replay run these same flows; only the range of the log and the lake differ.

There are two paces. What people watch (─) moves with every batch. The rest (┄) follows: every
`PTS_STREAM__FOLLOW_SECONDS`, all of it is brought up to one earlier batch, one turn (`Flow.turn`) in each of the next
batches, so that none of them gets long. Where each table stands is its position in the ledger.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pyspark.sql import DataFrame

from pipelines.contracts.rules import ALERT_WINDOW
from pipelines.contracts.topics import PACKAGE_REPORTS, SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.tables import (
    BRONZE_SHIP_EVENTS,
    BRONZE_SHIP_ROUTES,
    GOLD_BUSIEST_STOPS,
    GOLD_CARRIER_THROUGHPUT,
    GOLD_FAILED_DELIVERY_ALERTS,
    GOLD_REMAINING_STOPS,
    GOLD_STOP_ACTIVITY,
    OPS_EXPIRED_REPORTS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    Table,
)
from pipelines.transforms.bronze_records import archived
from pipelines.transforms.busiest_stops import busiest_stops
from pipelines.transforms.carrier_throughput import carrier_throughput
from pipelines.transforms.distinct_scans import distinct_scans
from pipelines.transforms.failed_delivery_alerts import failed_delivery_alerts
from pipelines.transforms.package_reports import package_reports
from pipelines.transforms.rejected import rejected_events, rejected_routes
from pipelines.transforms.remaining_stops import remaining_stops
from pipelines.transforms.route_versions import route_versions
from pipelines.transforms.stop_activity import stop_activity


@dataclass(frozen=True)
class Log:
    """The records of a topic that the flow's table does not hold yet, as they stand on the log."""

    topic: Topic


@dataclass(frozen=True)
class StartedAt:
    """The time at which the batch began."""


@dataclass(frozen=True)
class Judged:
    """The batch's records of a topic, with a verdict on each."""

    topic: Topic


@dataclass(frozen=True)
class NotAccepted:
    """New records of a bronze table that are not in silver, with a verdict on each: rejected ones and duplicates."""

    topic: Topic
    bronze: Table
    silver: Table


@dataclass(frozen=True)
class New:
    """The rows added to an append-only table since the flow's table moved last, found by their Kafka coordinates."""

    table: Table
    topic: Topic


@dataclass(frozen=True)
class Comparable:
    """Earlier batches' rows that a scan of this batch could equal: those of the same hours."""

    table: Table


@dataclass(frozen=True)
class Current:
    """A table as it stands before the flow; with what it has let go and could have to go on from."""

    table: Table
    expired: Table | None = None


@dataclass(frozen=True)
class Around:
    """The rows of a table less than `margin` of event time from any of the new ones."""

    new: New
    margin: timedelta


Read = Log | StartedAt | Judged | NotAccepted | New | Comparable | Current | Around


def tables_read(read: Read) -> tuple[Table, ...]:
    match read:
        case NotAccepted(_, bronze, silver):
            return bronze, silver
        case New(table, _) | Comparable(table):
            return (table,)
        case Current(table, expired):
            return (table, expired) if expired else (table,)
        case Around(new, _):
            return (new.table,)
        case _:
            return ()


@dataclass(frozen=True)
class Publication:
    """Messages about the rows that a fold changes, sent before the table shows them: at least once."""

    topic: Topic
    by: Callable[[DataFrame], DataFrame]


ROW_TIMES = "window_start", "occurred_at"
"""By one of them, the rows of a fold that follows are made anew for an interval of event time."""


@dataclass(frozen=True)
class Flow:
    """One table's growth by one micro-batch.

    Attributes:
        name: The flow's one name, in transaction ids, logs and the ledger.
        into: The table written.
        by: The pure function that gives the rows, called with one frame (or time) per read.
        reads: What the function is given.
        write: `append` adds the rows; `merge` replaces the rows of the table that have the same key; `add` adds the
            table's measures to those of the row with the same key.
        turn: Of a flow that follows the batches: those of one turn run in the same batch. None: it is in every batch.
        publishes: Messages about the changed rows.

    Raises:
        ValueError: A fold that follows has rows without a time.
    """

    name: str
    into: Table
    by: Callable[..., DataFrame]
    reads: tuple[Read, ...]
    write: Literal["append", "merge", "add"] = "append"
    turn: str | None = None
    publishes: Publication | None = None

    def __post_init__(self) -> None:
        if self.is_fold and self.turn and not set(ROW_TIMES) & set(self.into.column_names):
            raise ValueError(f"{self.into.name} has no {' or '.join(ROW_TIMES)}: its rows could not be made anew.")

    @property
    def is_fold(self) -> bool:
        """Whether the table follows from silver alone."""
        return self.write != "append"

    def needs(self, other: "Flow") -> bool:
        """Whether it waits for the other: it reads what that one writes, or writes the same table."""
        return other.into == self.into or any(other.into in tables_read(read) for read in self.reads)

    @property
    def archive(self) -> Table | None:
        """Where rows go that the table lets go and that may have to come back."""
        return next((read.expired for read in self.reads if isinstance(read, Current) and read.expired), None)


NEW_SCANS, NEW_ROUTES = New(SILVER_SHIP_EVENTS, SHIP_EVENTS), New(SILVER_SHIP_ROUTES, SHIP_ROUTES)

FLOWS = (
    Flow("accept_events", SILVER_SHIP_EVENTS, distinct_scans, (Judged(SHIP_EVENTS), Comparable(SILVER_SHIP_EVENTS))),
    Flow("accept_routes", SILVER_SHIP_ROUTES, route_versions, (Judged(SHIP_ROUTES),)),
    Flow(
        "remaining_stops",
        GOLD_REMAINING_STOPS,
        remaining_stops,
        (NEW_SCANS, NEW_ROUTES, Current(GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS)),
        write="merge",
        publishes=Publication(PACKAGE_REPORTS, package_reports),
    ),
    Flow("archive_events", BRONZE_SHIP_EVENTS, archived, (Log(SHIP_EVENTS), StartedAt()), turn="archives"),
    Flow("archive_routes", BRONZE_SHIP_ROUTES, archived, (Log(SHIP_ROUTES), StartedAt()), turn="archives"),
    Flow(
        "quarantine_events",
        SILVER_QUARANTINE,
        rejected_events,
        (NotAccepted(SHIP_EVENTS, BRONZE_SHIP_EVENTS, SILVER_SHIP_EVENTS),),
        turn="archives",
    ),
    Flow(
        "quarantine_routes",
        SILVER_QUARANTINE,
        rejected_routes,
        (NotAccepted(SHIP_ROUTES, BRONZE_SHIP_ROUTES, SILVER_SHIP_ROUTES),),
        turn="archives",
    ),
    Flow("stop_activity", GOLD_STOP_ACTIVITY, stop_activity, (NEW_SCANS,), write="add", turn="stops"),
    Flow(
        "busiest_stops",
        GOLD_BUSIEST_STOPS,
        busiest_stops,
        (NEW_SCANS, Current(GOLD_STOP_ACTIVITY)),
        write="merge",
        turn="stops",
    ),
    Flow("carrier_throughput", GOLD_CARRIER_THROUGHPUT, carrier_throughput, (NEW_SCANS,), write="add", turn="carriers"),
    Flow(
        "failed_delivery_alerts",
        GOLD_FAILED_DELIVERY_ALERTS,
        failed_delivery_alerts,
        (NEW_SCANS, Around(NEW_SCANS, ALERT_WINDOW)),
        write="merge",
        turn="alerts",
    ),
)

TURNS = tuple(dict.fromkeys(flow.turn for flow in FLOWS if flow.turn))
"""The turns, in order."""


def flows_into(table: Table) -> tuple[Flow, ...]:
    return tuple(flow for flow in FLOWS if flow.into == table)


def with_dependents(names: Iterable[str]) -> frozenset[str]:
    """The tables and all gold tables that are made from them, by name."""
    found = set(names)
    for flow in FLOWS:
        if any(isinstance(read, Current) and read.table.name in found for read in flow.reads):
            found.add(flow.into.name)
    return frozenset(found)
