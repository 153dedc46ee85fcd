"""Repeats of a package's scans: dropped, since a scan of the same identity counts already, whatever else they say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.scan_values import DETAILS, told
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.keys.clearance import Clearance
from pipelines.queries.report import coordinates
from pipelines.tables import BRONZE_SHIP_EVENTS, SILVER_QUARANTINE, SILVER_SHIP_EVENTS

DROPPED = f"""
    SELECT kafka_topic, kafka_partition, kafka_offset, value FROM {BRONZE_SHIP_EVENTS.name}
    ANTI JOIN (FROM {SILVER_SHIP_EVENTS.name} WHERE tracking_number = $1) USING (kafka_partition, kafka_offset)
    ANTI JOIN (FROM {SILVER_QUARANTINE.name} WHERE kafka_topic = '{SHIP_EVENTS.name}')
        USING (kafka_partition, kafka_offset)
    WHERE key = encode($1::VARCHAR) ORDER BY kafka_partition, kafka_offset
"""


@dataclass(frozen=True)
class Repeat:
    """A record that repeats a scan.

    Attributes:
        coordinates: Its place on the log.
        repeats: That of the scan that counts; None where it is not in silver.
        differs: By column: what the scan that counts says, and what this one says. Empty for a true repeat.
    """

    coordinates: str
    repeats: str | None
    differs: Mapping[str, tuple[Any, Any]]

    def as_json(self) -> dict[str, Any]:
        return {
            "coordinates": self.coordinates,
            "repeats": self.repeats,
            "differs": {name: {"counts": counts, "told": told} for name, (counts, told) in self.differs.items()},
        }


def repeats_of(
    reader: LakeReader,
    tracking_number: int,
    scans: Iterable[Mapping[str, Any]],
    wire_format: str,
    clearance: Clearance,
) -> tuple[Repeat, ...]:
    """In the order of the log, as far as bronze has come.

    Args:
        reader: The lake.
        tracking_number: The package.
        scans: Its rows of silver.ship_events, as the clearance shows them.
        wire_format: How values of ship-events are written.
        clearance: Who asks: each envelope differs from every other, whatever is in it.
    """
    if BRONZE_SHIP_EVENTS.name not in reader.table_names():
        return ()
    kept = {tuple(scan[name] for name in SCAN_IDENTITY): scan for scan in scans}
    return tuple(
        _repeat(row, kept, clearance.row(told(row["value"], wire_format)))
        for row in reader.query(DROPPED, [tracking_number]).to_pylist()
    )


def _repeat(
    row: Mapping[str, Any], kept: Mapping[tuple[Any, ...], Mapping[str, Any]], said: Mapping[str, Any]
) -> Repeat:
    scan = kept.get(tuple(said[name] for name in SCAN_IDENTITY))
    differs = {name: (scan[name], said[name]) for name in DETAILS if scan and scan[name] != said[name]}
    return Repeat(coordinates(row), coordinates(scan) if scan else None, differs)
