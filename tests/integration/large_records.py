"""Sixty records of 10 MB, written by tasks as a batch writes them. Run as a program, in a Java with a heap of 1 GiB."""

import sys
from datetime import UTC, datetime

from pipelines.contracts.topics import SHIP_ROUTES
from pipelines.contracts.wire import Wire
from pipelines.engine.record_tasks import RecordFlow, write
from pipelines.session import open_session
from pipelines.settings import Settings, Spark
from pipelines.tables import BRONZE_SHIP_ROUTES
from pipelines.transforms.bronze_records import BRONZE_RECORDS

COUNT = 60


def write_records(folder: str) -> None:
    """Says how many records the tasks have read, and how many rows they have written."""
    spark = open_session(Settings(spark=Spark(driver_memory_mb=1024)))
    records = spark.range(0, COUNT, 1, 1).selectExpr(
        "CAST(NULL AS BINARY) AS key",
        "CAST(repeat('0123456789', 1000000) AS BINARY) AS value",
        "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
        f"'{SHIP_ROUTES.name}' AS kafka_topic",
        "0 AS kafka_partition",
        "id AS kafka_offset",
        "current_timestamp() AS kafka_timestamp",
    )
    flow = RecordFlow("keep_routes", BRONZE_SHIP_ROUTES, folder, BRONZE_RECORDS, "true")
    written = write(records, SHIP_ROUTES, Wire("csv"), [flow], "true", datetime.now(UTC))
    row_count = sum(file.row_count for file in written.files[flow.name])
    sys.stdout.write(f"wrote {written.read_count} {row_count}\n")


if __name__ == "__main__":
    write_records(sys.argv[1])
