"""The whole pipeline on one screen: what flows from where into which table.

    ship-events ─┬► silver.ship_events ──┬► gold.remaining_stops ─► package-reports
                 ├► bronze.ship_events   │
                 ├► silver.quarantine    │
                 ├► bronze.ship_routes   │
    ship-routes ─┴► silver.ship_routes ──┘

    silver.ship_events ┬┄► gold.stop_activity ┄► gold.busiest_stops          ops.batches: one row when all of it stands
                       ├┄► gold.carrier_throughput
                       └┄► gold.failed_delivery_alerts

What a record is, is said once, by Spark (`transforms/judge.py`). What becomes of a table is a query: one that reads
records runs where Spark reads them, in a task for each part of the log; one that reads tables runs in DuckDB, in the
job's process. In a micro-batch a flow runs once those above it that it needs are done (`Flow.needs`), beside the
others. Live and replay run these same flows; only the range of the log and the lake differ.

The records, and what people watch (─), move with every batch. The rest (┄) catches up: every
`PTS_STREAM__FOLLOW_SECONDS`, a round brings all of it to one earlier batch, one group (`Flow.catch_up_group`) in each
of the next batches, so that none of them gets long. What people watch joins the rest where it is large
(`is_deferred_when_large`). The ledger has each table's position.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

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
    OPS_BATCHES,
    OPS_EXPIRED_REPORTS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    TABLES,
    Table,
)
from pipelines.transforms.bronze_records import BRONZE_RECORDS
from pipelines.transforms.busiest_stops import BUSIEST_STOPS
from pipelines.transforms.carrier_throughput import CARRIER_THROUGHPUT
from pipelines.transforms.distinct_scans import DISTINCT_SCANS
from pipelines.transforms.failed_delivery_alerts import FAILED, FAILED_DELIVERY_ALERTS
from pipelines.transforms.package_reports import PACKAGE_REPORT_MESSAGES
from pipelines.transforms.rejected import REJECTED
from pipelines.transforms.remaining_stops import REMAINING_STOPS
from pipelines.transforms.route_versions import ROUTE_VERSIONS
from pipelines.transforms.stop_activity import STOP_ACTIVITY


@dataclass(frozen=True)
class Judged:
    """The records of a topic that the flow's table does not hold yet, with a verdict on each."""

    topic: Topic


@dataclass(frozen=True)
class New:
    """The rows added to an append-only table since the flow's table moved last, found by their Kafka coordinates."""

    table: Table
    topic: Topic


@dataclass(frozen=True)
class Known:
    """Earlier batches' rows that a scan of this batch could equal: those of the same hours."""

    table: Table


@dataclass(frozen=True)
class Current:
    """A table as it is before the flow; with what it has removed and could have to go on from."""

    table: Table
    expired: Table | None = None


@dataclass(frozen=True)
class Around:
    """The rows of a table less than `margin` of event time from any of the new ones for which a condition (SQL) holds,
    and others of the same hours.
    """

    new: New
    margin: timedelta
    where: str


Read = Judged | New | Known | Current | Around


def tables_read(read: Read) -> tuple[Table, ...]:
    match read:
        case New(table, _) | Known(table):
            return (table,)
        case Current(table, expired):
            return (table, expired) if expired else (table,)
        case Around(new, _):
            return (new.table,)
        case _:
            return ()


@dataclass(frozen=True)
class Publication:
    """Messages about the rows that a batch changes (`reports` in the query), sent before the table shows them: at least
    once.

    Attributes:
        topic: Where they go.
        by: The query that gives them.
        sources: By topic of the records that change rows: what the names of the columns begin with that say where the
            last of them is.
    """

    topic: Topic
    by: str
    sources: Mapping[Topic, str]


@dataclass(frozen=True)
class Flow:
    """One table's growth by one micro-batch.

    Attributes:
        name: The flow's one name, in transaction ids, logs and the ledger.
        into: The table written.
        by: The query that gives the rows (`transforms`).
        reads: What the query reads, by the names that it has there.
        write: `append` adds the rows; `merge` replaces the rows of the table that have the same key; `add` adds the
            table's measures to those of the row with the same key.
        catch_up_group: Flows of one group catch up in the same batch. None: the flow is in every batch.
        publishes: Messages about the changed rows.
        is_deferred_when_large: Whether the table takes several batches at once where it is so large that rewriting its
            files for each would take longer than all else. What is published is in time all the same.

    Raises:
        ValueError: A fold that catches up has rows without a time.
    """

    name: str
    into: Table
    by: str
    reads: Mapping[str, Read]
    write: Literal["append", "merge", "add"] = "append"
    catch_up_group: str | None = None
    publishes: Publication | None = None
    is_deferred_when_large: bool = False

    def __post_init__(self) -> None:
        if self.is_fold and self.catch_up_group and self.into.row_time is None:
            raise ValueError(f"{self.into.name} names no row_time: its rows could not be computed again.")

    @property
    def is_fold(self) -> bool:
        """Whether the table follows from silver alone."""
        return self.write != "append"

    def needs(self, other: "Flow") -> bool:
        """Whether it waits for the other: it reads what that one writes, or writes the same table."""
        return other.into == self.into or any(other.into in tables_read(read) for read in self.reads.values())

    @property
    def topic(self) -> Topic | None:
        """The topic whose records it reads, if it reads records."""
        return next((read.topic for read in self.reads.values() if isinstance(read, Judged)), None)

    @property
    def archive(self) -> Table | None:
        """Where rows go that the table removes and that may have to come back."""
        return next((read.expired for read in self.reads.values() if isinstance(read, Current) and read.expired), None)


NEW_SCANS, NEW_ROUTES = New(SILVER_SHIP_EVENTS, SHIP_EVENTS), New(SILVER_SHIP_ROUTES, SHIP_ROUTES)

ACCEPTED = (NEW_SCANS.table, NEW_ROUTES.table)
"""The tables of accepted records, from which all folds follow."""

ARCHIVES = {SHIP_EVENTS.name: BRONZE_SHIP_EVENTS, SHIP_ROUTES.name: BRONZE_SHIP_ROUTES}
"""The table that keeps a topic's records as they are on the log, by the topic's name."""

FLOWS = (
    Flow(
        "accept_events",
        SILVER_SHIP_EVENTS,
        DISTINCT_SCANS,
        {"records": Judged(SHIP_EVENTS), "known": Known(SILVER_SHIP_EVENTS)},
    ),
    Flow("accept_routes", SILVER_SHIP_ROUTES, ROUTE_VERSIONS, {"records": Judged(SHIP_ROUTES)}),
    Flow(
        "remaining_stops",
        GOLD_REMAINING_STOPS,
        REMAINING_STOPS,
        {
            "new_scans": NEW_SCANS,
            "new_routes": NEW_ROUTES,
            "current": Current(GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS),
        },
        write="merge",
        publishes=Publication(PACKAGE_REPORTS, PACKAGE_REPORT_MESSAGES, {SHIP_EVENTS: "event_", SHIP_ROUTES: "route_"}),
        is_deferred_when_large=True,
    ),
    Flow("keep_events", BRONZE_SHIP_EVENTS, BRONZE_RECORDS, {"records": Judged(SHIP_EVENTS)}),
    Flow("keep_routes", BRONZE_SHIP_ROUTES, BRONZE_RECORDS, {"records": Judged(SHIP_ROUTES)}),
    Flow("reject_events", SILVER_QUARANTINE, REJECTED, {"records": Judged(SHIP_EVENTS)}),
    Flow("reject_routes", SILVER_QUARANTINE, REJECTED, {"records": Judged(SHIP_ROUTES)}),
    Flow("stop_activity", GOLD_STOP_ACTIVITY, STOP_ACTIVITY, {"scans": NEW_SCANS}, write="add", catch_up_group="stops"),
    Flow(
        "busiest_stops",
        GOLD_BUSIEST_STOPS,
        BUSIEST_STOPS,
        {"scans": NEW_SCANS, "activity": Current(GOLD_STOP_ACTIVITY)},
        write="merge",
        catch_up_group="stops",
    ),
    Flow(
        "carrier_throughput",
        GOLD_CARRIER_THROUGHPUT,
        CARRIER_THROUGHPUT,
        {"scans": NEW_SCANS},
        write="add",
        catch_up_group="carriers",
    ),
    Flow(
        "failed_delivery_alerts",
        GOLD_FAILED_DELIVERY_ALERTS,
        FAILED_DELIVERY_ALERTS,
        {"new_scans": NEW_SCANS, "scans": Around(NEW_SCANS, ALERT_WINDOW, FAILED)},
        write="merge",
        catch_up_group="alerts",
    ),
)

DEFERRED_WHEN_LARGE = tuple(flow.into.name for flow in FLOWS if flow.is_deferred_when_large)

CATCH_UP_GROUPS = tuple(dict.fromkeys(flow.catch_up_group for flow in FLOWS if flow.catch_up_group))
"""The groups, in the order of a round."""


def flows_into(table: Table, flows: Iterable[Flow] = FLOWS) -> tuple[Flow, ...]:
    return tuple(flow for flow in flows if flow.into == table)


def tables_of(flows: Iterable[Flow] = FLOWS) -> tuple[Table, ...]:
    """The tables of which the ledger says, after a batch of these flows, where they are: all but the ledger itself."""
    by_name = {table.name: table for table in (*TABLES, *(flow.into for flow in flows))}
    return tuple(table for table in by_name.values() if table != OPS_BATCHES)


def with_dependents(names: Iterable[str], flows: Iterable[Flow] = FLOWS) -> frozenset[str]:
    """The tables and all gold tables that are made from them, by name."""
    found = set(names)
    for flow in flows:
        if any(isinstance(read, Current) and read.table.name in found for read in flow.reads.values()):
            found.add(flow.into.name)
    return frozenset(found)
