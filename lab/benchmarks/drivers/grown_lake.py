"""Makes a lake that is already large, as a live job would have left it: reports of so many packages, so much history.

    .venv/bin/python -m lab.benchmarks.drivers.grown_lake <packages> <scans> <bootstrap servers> [<begin> [planted]]

The settings of the product are its environment. The history is of the last 30 days, or of those that begin at a second
since the epoch, in the order of time, in files of a million rows, as compaction leaves them. Its coordinates are on
partitions that the topics do not have, so that the job goes on at the beginning of a log that is new; the ledger says
so.
"""

import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lab.benchmarks.steady_feed import END_STOP
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.engine.batch import Batch
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import ranges_between
from pipelines.session import open_session
from pipelines.settings import load_settings
from pipelines.state.ledger import Counts, Ledger, LedgerRow, TableState
from pipelines.tables import (
    BRONZE_SHIP_EVENTS,
    GOLD_REMAINING_STOPS,
    GOLD_STOP_ACTIVITY,
    OPS_BATCHES,
    SILVER_SHIP_EVENTS,
    TABLES,
    Table,
)
from tests.batches import write_checkpoint

TOPICS = [topic.name for topic in INPUT_TOPICS]
FOREIGN_PARTITION = 1_000
ROWS_PER_FILE = 1_000_000
PLACES = 300
SPAN_SECONDS = 30 * 24 * 3600


def main() -> None:
    packages, scans, servers = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    settings = load_settings()
    spark = open_session(settings, "grown lake")
    lake = Lake(spark, settings.lake_root)
    for table in TABLES:
        lake.ensure(table)
    begin = float(sys.argv[4]) if sys.argv[4:] else time.time() - SPAN_SECONDS
    events = history(spark, packages, scans, begin)
    fill(lake, SILVER_SHIP_EVENTS, planted(events) if sys.argv[5:] == ["planted"] else events)
    fill(lake, BRONZE_SHIP_EVENTS, raw(events))
    fill(lake, GOLD_REMAINING_STOPS, reports(spark, packages, begin))
    fill(lake, GOLD_STOP_ACTIVITY, windows(spark, begin))
    checkpoint_id = str(uuid.uuid4())
    offsets = {topic: dict.fromkeys(parts, 0) for topic, parts in end_offsets(Connection(servers), TOPICS).items()}
    now = datetime.now(UTC)
    row = LedgerRow(
        batch_id=0,
        checkpoint_id=checkpoint_id,
        checkpoint_batch_id=0,
        started_at=now,
        committed_at=now,
        ranges=ranges_between(offsets, offsets),
        counts={topic: Counts(0, 0, 0, 0) for topic in TOPICS},
        tables={table.name: TableState(lake.commits.version(table), 0) for table in TABLES if table != OPS_BATCHES},
    )
    Ledger(lake).append(row, Transaction(f"{checkpoint_id}/ledger", 0))
    write_checkpoint(Path(settings.lake_root), [Batch(0, checkpoint_id, 0, row.ranges, now, checkpoint_id)])
    spark.stop()


def fill(lake: Lake, table: Table, rows: DataFrame) -> None:
    columns = [F.col(name) if name in rows.columns else F.lit(None).alias(name) for name in table.column_names]
    typed = [column.cast(each.type).alias(each.name) for column, each in zip(columns, table.columns, strict=True)]
    marked: dict[str, str | int] = {"txnAppId": f"grown/{table.name}", "txnVersion": 0}
    rows.select(*typed).write.format("delta").mode("append").options(**marked).save(lake.path(table))


def numbers(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(0, count, 1, max(1, count // ROWS_PER_FILE))


def place(of: Column) -> dict[str, Column]:
    return {
        "country": F.lit("US"),
        "state": F.concat(F.lit("S"), (of % 50).cast("string")),
        "city": F.concat(F.lit("City "), (of % PLACES).cast("string")),
        "postal_code": F.format_string("%05d", of % PLACES),
    }


def history(spark: SparkSession, packages: int, scans: int, begin: float) -> DataFrame:
    """silver.ship_events: scans of packages in turn, evenly over the time."""
    number = F.col("id")
    micros = F.lit(int(begin * 1e6)) + (number * F.lit(SPAN_SECONDS * 1e6 / scans)).cast("bigint")
    return numbers(spark, scans).select(
        (number % packages + 1).alias("tracking_number"),
        F.timestamp_micros(micros).alias("occurred_at"),
        F.lit("ARR").alias("event_code"),
        F.lit("IT").alias("status_code"),
        F.lit("Arrived at facility").alias("status_description"),
        F.concat(F.lit("C"), (number % 7).cast("string")).alias("carrier_code"),
        *(column.alias(name) for name, column in place(number * 7919).items()),
        (number % END_STOP).alias("current_stop_id"),
        F.lit("ship-events").alias("kafka_topic"),
        F.lit(FOREIGN_PARTITION).alias("kafka_partition"),
        number.alias("kafka_offset"),
        F.timestamp_micros(micros + 1_000_000).alias("kafka_timestamp"),
    )


def planted(events: DataFrame) -> DataFrame:
    """Six differences: two rows are left out, three are of another city, and one is there twice."""
    number = F.col("kafka_offset")
    city = F.when(number.isin(3, 4, 5), "Nowhere").otherwise(F.col("city"))
    return events.where(~number.isin(1, 2)).withColumn("city", city).unionByName(events.where(number == 6))


def raw(events: DataFrame) -> DataFrame:
    """bronze.ship_events of the same scans."""
    wire = ("tracking_number", "occurred_at", "event_code", "status_code", "status_description", "carrier_code",
            "country", "state", "city", "postal_code", "current_stop_id")  # fmt: skip
    return events.select(
        F.col("tracking_number").cast("string").cast("binary").alias("key"),
        F.concat_ws(",", *(F.col(name).cast("string") for name in wire)).cast("binary").alias("value"),
        *(name for name in events.columns if name.startswith("kafka_")),
        F.col("kafka_timestamp").alias("ingested_at"),
    )


def reports(spark: SparkSession, packages: int, begin: float) -> DataFrame:
    """gold.remaining_stops: a scan and a route for each package."""
    number = F.col("id") + 1
    scan_at = F.timestamp_micros(F.lit(int(begin * 1e6)) + F.col("id"))
    return numbers(spark, packages).select(
        number.alias("tracking_number"),
        scan_at.alias("occurred_at"),
        F.lit(END_STOP).alias("end_stop_id"),
        F.lit(0).alias("current_stop_id"),
        F.lit(END_STOP).alias("number_of_remaining_stops"),
        number.alias("route_id"),
        F.lit("ARR").alias("event_code"),
        F.lit("IT").alias("status_code"),
        F.lit("Arrived at facility").alias("status_description"),
        F.concat(F.lit("C"), (number % 7).cast("string")).alias("carrier_code"),
        *(column.alias(name) for name, column in place(number * 7919).items()),
        *(F.lit(FOREIGN_PARTITION).alias(f"{of}_kafka_partition") for of in ("event", "route")),
        *(F.col("id").alias(f"{of}_kafka_offset") for of in ("event", "route")),
        *(scan_at.alias(f"{of}_kafka_timestamp") for of in ("event", "route")),
    )


def windows(spark: SparkSession, begin: float) -> DataFrame:
    """gold.stop_activity: every place in every window of the time."""
    slide = 300
    first = int(begin) // slide * slide
    count = SPAN_SECONDS // slide * PLACES
    start = F.timestamp_seconds(F.lit(first) + F.floor(F.col("id") / PLACES) * slide)
    return numbers(spark, count).select(
        start.alias("window_start"),
        (start + F.expr("INTERVAL '10' MINUTE")).alias("window_end"),
        *(column.alias(name) for name, column in place(F.col("id")).items()),
        F.lit(10).alias("scan_count"),
        F.lit(1).alias("delivered_count"),
        F.lit(1).alias("failed_count"),
    )


if __name__ == "__main__":
    main()
