"""Is a lake right? The oracle's rows of some packages and of some hours, against those that a drain left."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from lab.benchmarks.driving import RunFailed
from tests.comparison import Rows, expected_rows, stored_rows
from tests.oracle.records import LogRecord

PACKAGES, FAILING, HOURS = 300, 50, 4
OF_PACKAGES = ("silver.ship_events", "silver.ship_routes", "gold.remaining_stops", "gold.failed_delivery_alerts")
OF_HOURS = ("gold.stop_activity", "gold.busiest_stops", "gold.carrier_throughput")
SAMPLED = (*OF_PACKAGES, "silver.quarantine", *OF_HOURS)
"""The tables of which rows are compared."""
HOUR_MICROS = 3_600_000_000
OCCURRED_AT = """TRY_CAST(trim(string_split(try(decode(value)), ',')[2], '"') AS TIMESTAMPTZ)"""
"""The time of a scan, as one finds it without the contract: null, or a wrong one, for some that break that."""


@dataclass(frozen=True)
class Sample:
    """Records of a log, and which rows follow from them alone.

    Attributes:
        records: The records.
        conditions: By table, what is true of those rows, in SQL.
        holds: The same of a row of the oracle.
    """

    records: list[LogRecord]
    conditions: dict[str, str]
    holds: Callable[[dict[str, Any]], bool] = lambda _: True


@dataclass(frozen=True)
class Expected:
    """Rows of the oracle: those of a table for which the condition is true, in SQL."""

    table: str
    condition: str
    rows: Rows


def expected(dump: Path) -> list[Expected]:
    """What a lake of that log must have."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE VIEW log AS FROM '{dump}'")
        samples = (_of_packages(connection), *_of_hours(connection))
    return [
        Expected(table, condition, list(filter(sample.holds, rows[table])))
        for sample in samples
        for rows in [expected_rows(sample.records)]
        for table, condition in sample.conditions.items()
    ]


def check(all_expected: Sequence[Expected], lake_root: str) -> int:
    """How many rows were compared, all of them equal.

    Raises `RunFailed` for a table whose rows are not the oracle's, and where there is nothing to compare.
    """
    count = 0
    for part in all_expected:
        if stored_rows(lake_root, part.table, ("detail",), part.condition) != part.rows:
            raise RunFailed(f"{part.table} of {lake_root} has other rows than the oracle where {part.condition}")
        count += len(part.rows)
    if not count:
        raise RunFailed(f"The log has nothing to compare {lake_root} with.")
    return count


def _of_packages(connection: duckdb.DuckDBPyConnection) -> Sample:
    packages = connection.execute(
        "WITH packages AS ("
        "SELECT decode(key) AS package, count(*) FILTER (try(decode(value)) LIKE '%,DF,%') AS failures FROM log "
        "WHERE regexp_full_match(try(decode(key)), '[1-9][0-9]{0,17}') GROUP BY ALL) "
        f"(SELECT package FROM packages ORDER BY hash(package) LIMIT {PACKAGES}) UNION "
        f"(SELECT package FROM packages ORDER BY failures DESC LIMIT {FAILING})"
    ).fetchall()
    listed = ", ".join(package for (package,) in packages)
    keys = ", ".join(f"'{package}'::BLOB" for (package,) in packages)
    of_them = f"tracking_number IN ({listed})"
    return Sample(
        _records(connection, f"key IN ({keys})"),
        dict.fromkeys(OF_PACKAGES, of_them) | {"silver.quarantine": f"key IN ({keys})"},
    )


def _of_hours(connection: duckdb.DuckDBPyConnection) -> Iterator[Sample]:
    hours = connection.execute(
        f"SELECT DISTINCT epoch_us(time_bucket(INTERVAL 1 HOUR, {OCCURRED_AT})) AS hour FROM log "
        "WHERE kafka_topic = 'ship-events' "
        f"AND kafka_timestamp - {OCCURRED_AT} BETWEEN INTERVAL 0 HOUR AND INTERVAL 1 HOUR "
        f"ORDER BY hash(hour) LIMIT {HOURS}"
    ).fetchall()
    for (begin,) in hours:
        yield _of_hour(connection, begin, begin + HOUR_MICROS)


def _of_hour(connection: duckdb.DuckDBPyConnection, begin: int, end: int) -> Sample:
    within = f"epoch_us(window_start) >= {begin} AND epoch_us(window_end) <= {end}"
    return Sample(
        _records(connection, f"kafka_topic = 'ship-events' AND epoch_us({OCCURRED_AT}) BETWEEN {begin} AND {end} - 1"),
        dict.fromkeys(OF_HOURS, within),
        lambda row: bool(row["window_start"] >= begin and row["window_end"] <= end),
    )


def _records(connection: duckdb.DuckDBPyConnection, condition: str) -> list[LogRecord]:
    rows = connection.execute(
        "SELECT kafka_topic, kafka_partition, kafka_offset, epoch_ms(kafka_timestamp), key, value "
        f"FROM log WHERE {condition}"
    ).fetchall()
    return [LogRecord(*row) for row in rows]
