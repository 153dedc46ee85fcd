"""How long after its append does a scan show? Pure: from what was seen where and when, to quantiles.

Times are seconds since the epoch. A scan's own time is its Kafka timestamp, the moment at which its producer made it.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from pipelines.contracts.topics import SHIP_EVENTS

QUANTILES = (0.5, 0.95, 0.99)

SCANS = pa.schema(
    {"package": pa.int64(), "kafka_partition": pa.int32(), "kafka_offset": pa.int64(), "appended_at": pa.float64()}
)
MESSAGES = pa.schema({"package": pa.int64(), "kafka_offset": pa.int64(), "arrived_at": pa.float64()})
COMMITS = pa.schema(
    {
        "kafka_partition": pa.int32(),
        "start_offset": pa.int64(),
        "end_offset": pa.int64(),
        "visible_at": pa.float64(),
    }
)


@dataclass(frozen=True)
class Delays:
    """Quantiles in seconds over the scans that count. `unseen`: those that never showed."""

    scans: int
    unseen: int
    p50_seconds: float | None
    p95_seconds: float | None
    p99_seconds: float | None
    greatest_seconds: float | None


def scans_in(dump: Path) -> pa.Table:
    """The scans of a dump of the log (`seeded_log.dump`), as `SCANS`."""
    with duckdb.connect() as connection:
        query = (
            "SELECT decode(key)::BIGINT AS package, kafka_partition, kafka_offset, "
            f"epoch(kafka_timestamp) AS appended_at FROM '{dump}' WHERE kafka_topic = '{SHIP_EVENTS.name}'"
        )
        return connection.sql(query).to_arrow_table().cast(SCANS)


def until_message(scans: pa.Table, messages: pa.Table, since: float) -> Delays:
    """Until the first message about the scan's package that names this scan or a later one.

    A batch makes one message of several scans of a package, which names the newest. All records of a package are in
    one partition, so their offsets have an order.
    """
    return _delays(
        """
        WITH arrivals AS (
            SELECT package, kafka_offset, min(arrived_at) AS arrived_at FROM messages GROUP BY ALL
        )
        SELECT m.arrived_at - s.appended_at AS delay
        FROM scans s ASOF LEFT JOIN arrivals m ON s.package = m.package AND s.kafka_offset <= m.kafka_offset
        WHERE s.appended_at >= $since
        """,
        {"scans": scans, "messages": messages},
        since,
    )


def until_commit(scans: pa.Table, commits: pa.Table, since: float) -> Delays:
    """Until the commit whose range of the log, `[start_offset, end_offset)` of a partition, contains the scan."""
    return _delays(
        """
        SELECT c.visible_at - s.appended_at AS delay
        FROM scans s ASOF LEFT JOIN (FROM commits WHERE start_offset < end_offset) c
          ON s.kafka_partition = c.kafka_partition AND s.kafka_offset < c.end_offset
        WHERE s.appended_at >= $since
        """,
        {"scans": scans, "commits": commits},
        since,
    )


def _delays(query: str, tables: dict[str, pa.Table], since: float) -> Delays:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        row = connection.execute(
            f"SELECT count(*), count(*) - count(delay), quantile_disc(delay, {list(QUANTILES)}), max(delay) "
            f"FROM ({query})",
            {"since": since},
        ).fetchone()
    assert row is not None
    scans, unseen, quantiles, greatest = row
    p50, p95, p99 = quantiles or (None, None, None)
    return Delays(scans, unseen, p50, p95, p99, greatest)
