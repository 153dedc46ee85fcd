"""`pts report`: all that the lake knows of one package, with the Kafka coordinates of each record behind it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.errors import InvalidInput, NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.keys.clearance import Clearance
from pipelines.progress import part
from pipelines.queries.newest import newest
from pipelines.settings import Settings
from pipelines.tables import GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS
from pipelines.values import as_json, rows_of

Row = Mapping[str, Any]

SCANS = "silver.ship_events", "occurred_at, kafka_timestamp, kafka_partition, kafka_offset"
ROUTES = "silver.ship_routes", "kafka_timestamp, kafka_partition, kafka_offset"
MAX_TRACKING_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class PackageReport:
    """One package.

    Attributes:
        tracking_number: The package.
        report: Its row of gold.remaining_stops, or that of ops.expired_reports if it expired; None while a batch has
            written silver but not gold yet.
        routes: Its rows of silver.ship_routes, withdrawals too, in the order in which they came into force.
        scans: Its rows of silver.ship_events, in the order in which they happened.
        is_expired: Whether the package was delivered and its report removed by `pts expire`.
    """

    tracking_number: int
    report: Row | None
    routes: tuple[Row, ...]
    scans: tuple[Row, ...]
    is_expired: bool = False

    @property
    def route_in_force(self) -> Row | None:
        """The last route, unless that is a withdrawal."""
        return self.routes[-1] if self.routes and not self.routes[-1]["is_withdrawn"] else None

    def as_json(self) -> dict[str, Any]:
        """JSON-ready: timestamps in ISO 8601, UTC, with microseconds; Kafka coordinates as `topic/partition@offset`."""
        route = self.route_in_force
        return {
            "tracking_number": self.tracking_number,
            "report": self.report and as_json(self.report) | sources_of(self.report),
            "is_expired": self.is_expired,
            "route_in_force": route and _record_json(route),
            "routes": [_record_json(row) for row in self.routes],
            "scans": [_record_json(row) for row in self.scans],
        }


def package_report(tracking_number: int, settings: Settings) -> PackageReport:
    """Reads one package from gold and silver, sealed fields as this process's user may see them.

    Raises `NotFound` for a package that no topic has named, `KeysUnavailable` for a key store that is none.
    """
    if not 0 < tracking_number <= MAX_TRACKING_NUMBER:
        raise InvalidInput(f"A tracking number is between 1 and {MAX_TRACKING_NUMBER}, not {tracking_number}.")
    with part(f"Reading package {tracking_number}"), closing(Clearance.of(settings)) as clearance:
        return package_in(newest(settings.lake_root), tracking_number, clearance)


def package_in(reader: LakeReader, tracking_number: int, clearance: Clearance) -> PackageReport:
    """One package, as `package_report`, from tables that are open already."""

    def rows(table: str, order: str) -> tuple[Row, ...]:
        sql = f"SELECT * FROM {table} WHERE tracking_number = ? ORDER BY {order}"
        return tuple(rows_of(reader.query(sql, [tracking_number])))

    def scans(table: str, order: str) -> tuple[Row, ...]:
        return tuple(map(clearance.row, rows(table, order)))

    reports = scans(GOLD_REMAINING_STOPS.name, "tracking_number")
    expired: tuple[Row, ...] = ()
    if not reports and OPS_EXPIRED_REPORTS.name in reader.table_names():
        expired = scans(OPS_EXPIRED_REPORTS.name, "tracking_number")
    report = next(iter(reports + expired), None)
    found = PackageReport(tracking_number, report, rows(*ROUTES), scans(*SCANS), is_expired=bool(expired))
    if not (found.report or found.routes or found.scans):
        raise NotFound(
            f"Package {tracking_number} is in neither {SHIP_EVENTS.name} nor {SHIP_ROUTES.name} as far as it was read."
        )
    return found


def coordinates(row: Row) -> str:
    """Where on the log a row came from: `topic/partition@offset`."""
    return f"{row['kafka_topic']}/{row['kafka_partition']}@{row['kafka_offset']}"


def sources_of(report: Row) -> dict[str, str | None]:
    """`event_coordinates` and `route_coordinates`: the scan and the route record that made the report."""
    return {
        f"{kind}_coordinates": None
        if report[f"{kind}_kafka_offset"] is None
        else f"{topic.name}/{report[f'{kind}_kafka_partition']}@{report[f'{kind}_kafka_offset']}"
        for kind, topic in (("event", SHIP_EVENTS), ("route", SHIP_ROUTES))
    }


def _record_json(row: Row) -> dict[str, Any]:
    return {**as_json(row), "coordinates": coordinates(row)}
