"""The whole pipeline on one screen: what flows from where into which table.

    ship-events ─► bronze.ship_events ─┬► silver.ship_events ──┐
                                       └► silver.quarantine    ├► gold.remaining_stops ─► package-reports
    ship-routes ─► bronze.ship_routes ─┬► silver.ship_routes ──┘
                                       └► silver.quarantine                   ops.batches: one row when all of it stands

A micro-batch runs the flows from top to bottom. Live and replay run these same flows; only the range of the log and
the lake differ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from pipelines.contracts.topics import PACKAGE_REPORTS, SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.tables import (
    BRONZE_SHIP_EVENTS,
    BRONZE_SHIP_ROUTES,
    GOLD_REMAINING_STOPS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    Table,
)
from pipelines.transforms.bronze_records import archived
from pipelines.transforms.distinct_scans import distinct_scans
from pipelines.transforms.package_reports import package_reports
from pipelines.transforms.rejected import rejected_events, rejected_routes
from pipelines.transforms.remaining_stops import remaining_stops
from pipelines.transforms.route_versions import route_versions


@dataclass(frozen=True)
class Log:
    """The batch's records of a topic, as they stand on the log."""

    topic: Topic


@dataclass(frozen=True)
class StartedAt:
    """The time at which the batch began."""


@dataclass(frozen=True)
class Judged:
    """The batch's records of a topic, read back from its bronze table, with a verdict on each."""

    topic: Topic
    bronze: Table


@dataclass(frozen=True)
class New:
    """The rows that the batch added to an append-only table, found by their Kafka coordinates."""

    table: Table
    topic: Topic


@dataclass(frozen=True)
class Comparable:
    """Earlier batches' rows that a scan of this batch could equal: those whose `occurred_at` the rules allow it too."""

    table: Table


@dataclass(frozen=True)
class Current:
    """A table as it stands before the flow."""

    table: Table


Read = Log | StartedAt | Judged | New | Comparable | Current


@dataclass(frozen=True)
class Publication:
    """Messages about the rows that a fold changes, sent before the table shows them: at least once."""

    topic: Topic
    by: Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Flow:
    """One table's growth by one micro-batch.

    Attributes:
        name: The flow's one name, in transaction ids, logs and the ledger.
        into: The table written.
        by: The pure function that gives the rows, called with one frame (or time) per read.
        reads: What the function is given.
        write: `append` adds the rows; `merge` replaces the rows of the table that have the same key.
        counts: What the number of rows means in the ledger, for the topic of the first read.
        publishes: Messages about the changed rows.
    """

    name: str
    into: Table
    by: Callable[..., DataFrame]
    reads: tuple[Read, ...]
    write: Literal["append", "merge"] = "append"
    counts: Literal["read", "accepted", "quarantined"] | None = None
    publishes: Publication | None = None


EVENTS, ROUTES = Judged(SHIP_EVENTS, BRONZE_SHIP_EVENTS), Judged(SHIP_ROUTES, BRONZE_SHIP_ROUTES)
NEW_SCANS, NEW_ROUTES = New(SILVER_SHIP_EVENTS, SHIP_EVENTS), New(SILVER_SHIP_ROUTES, SHIP_ROUTES)

FLOWS = (
    Flow("archive_events", BRONZE_SHIP_EVENTS, archived, (Log(SHIP_EVENTS), StartedAt()), counts="read"),
    Flow("archive_routes", BRONZE_SHIP_ROUTES, archived, (Log(SHIP_ROUTES), StartedAt()), counts="read"),
    Flow(
        "accept_events", SILVER_SHIP_EVENTS, distinct_scans, (EVENTS, Comparable(SILVER_SHIP_EVENTS)), counts="accepted"
    ),
    Flow("accept_routes", SILVER_SHIP_ROUTES, route_versions, (ROUTES,), counts="accepted"),
    Flow("quarantine_events", SILVER_QUARANTINE, rejected_events, (EVENTS,), counts="quarantined"),
    Flow("quarantine_routes", SILVER_QUARANTINE, rejected_routes, (ROUTES,), counts="quarantined"),
    Flow(
        "remaining_stops",
        GOLD_REMAINING_STOPS,
        remaining_stops,
        (NEW_SCANS, NEW_ROUTES, Current(GOLD_REMAINING_STOPS)),
        write="merge",
        publishes=Publication(PACKAGE_REPORTS, package_reports),
    ),
)
