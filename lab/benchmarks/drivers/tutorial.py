"""What a user would write instead: chained streaming queries, as the tutorials of Spark and Delta have them.

Kafka -> bronze -> silver -> latest report and sliding windows. Each arrow is a streaming query with a checkpoint of its
own, run to its end with `availableNow` before the next one starts. Spark's settings are its defaults.
"""

from collections.abc import Callable

from delta import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from lab.benchmarks.answering import answer_requests

EVENT = (
    "trackingNumber BIGINT, occurredAt STRING, eventCode STRING, statusCode STRING, statusDescription STRING, "
    "carrierCode STRING, country STRING, state STRING, city STRING, postalCode STRING, currentStopId BIGINT"
)
ROUTE = "routeId BIGINT, trackingNumber BIGINT, endStopId BIGINT"
STOP = ("country", "state", "city", "postalCode")
REPORT = (
    "trackingNumber BIGINT, occurredAt TIMESTAMP, numberOfRemainingStops BIGINT, currentStopId BIGINT, "
    "endStopId BIGINT, statusCode STRING, city STRING"
)
ACTIVITY = (
    "windowStart TIMESTAMP, windowEnd TIMESTAMP, country STRING, state STRING, city STRING, postalCode STRING, "
    "scans BIGINT, delivered BIGINT, failed BIGINT"
)


def drain(spark: SparkSession, servers: str, folder: str) -> None:
    """Brings all that the topics hold into the tables under `folder`."""
    load_routes(spark, servers, folder)
    to_bronze(spark, servers, folder)
    to_silver(spark, folder)
    to_latest_report(spark, folder)
    to_stop_activity(spark, folder)


def load_routes(spark: SparkSession, servers: str, folder: str) -> None:
    """The static side of the join: the last route of each package."""
    newest = Window.partitionBy("trackingNumber").orderBy(F.desc("timestamp"))
    (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "ship-routes")
        .load()
        .select("timestamp", from_csv("value", ROUTE).alias("route"))
        .select("timestamp", "route.*")
        .where("trackingNumber IS NOT NULL AND endStopId IS NOT NULL")
        .withColumn("n", F.row_number().over(newest))
        .where("n = 1")
        .drop("n", "timestamp")
        .write.format("delta")
        .save(f"{folder}/routes")
    )


def to_bronze(spark: SparkSession, servers: str, folder: str) -> None:
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "ship-events")
        .option("startingOffsets", "earliest")
        .load()
    )
    append(records, f"{folder}/bronze")


def to_silver(spark: SparkSession, folder: str) -> None:
    scans = (
        spark.readStream.format("delta")
        .load(f"{folder}/bronze")
        .select(from_csv("value", EVENT).alias("event"), "partition", "offset", "timestamp")
        .select("event.*", "partition", "offset", "timestamp")
        .withColumn("occurredAt", F.try_to_timestamp("occurredAt"))
        .where("trackingNumber > 0 AND occurredAt IS NOT NULL AND eventCode IS NOT NULL AND currentStopId >= 0")
        .withWatermark("occurredAt", "10 minutes")
        .dropDuplicates(["trackingNumber", "occurredAt", "eventCode", "statusCode", "currentStopId"])
    )
    append(scans, f"{folder}/silver")


def to_latest_report(spark: SparkSession, folder: str) -> None:
    table = f"{folder}/latest_report"
    DeltaTable.createIfNotExists(spark).location(table).addColumns(spark.createDataFrame([], REPORT).schema).execute()
    routes = spark.read.format("delta").load(f"{folder}/routes")
    reports = (
        spark.readStream.format("delta")
        .load(f"{folder}/silver")
        .join(routes, "trackingNumber", "left")
        .withColumn("numberOfRemainingStops", F.expr("endStopId - currentStopId"))
        .select(*spark.createDataFrame([], REPORT).columns)
    )

    def merge(batch: DataFrame, _number: int) -> None:
        newest = Window.partitionBy("trackingNumber").orderBy(F.desc("occurredAt"))
        latest = batch.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n")
        (
            DeltaTable.forPath(batch.sparkSession, table)
            .alias("old")
            .merge(latest.alias("new"), "old.trackingNumber = new.trackingNumber")
            .whenMatchedUpdateAll("new.occurredAt > old.occurredAt")
            .whenNotMatchedInsertAll()
            .execute()
        )

    for_each_batch(reports.writeStream, table, merge)


def to_stop_activity(spark: SparkSession, folder: str) -> None:
    table = f"{folder}/stop_activity"
    DeltaTable.createIfNotExists(spark).location(table).addColumns(spark.createDataFrame([], ACTIVITY).schema).execute()
    activity = (
        spark.readStream.format("delta")
        .load(f"{folder}/silver")
        .withWatermark("occurredAt", "10 minutes")
        .groupBy(F.window("occurredAt", "10 minutes", "5 minutes"), *STOP)
        .agg(
            F.count("*").alias("scans"),
            F.count_if(F.col("statusCode") == "DL").alias("delivered"),
            F.count_if(F.col("statusCode") == "DF").alias("failed"),
        )
        .select(
            F.col("window.start").alias("windowStart"),
            F.col("window.end").alias("windowEnd"),
            *STOP,
            *("scans", "delivered", "failed"),
        )
    )
    keys = ("windowStart", "windowEnd", *STOP)

    def merge(batch: DataFrame, _number: int) -> None:
        (
            DeltaTable.forPath(batch.sparkSession, table)
            .alias("old")
            .merge(batch.alias("new"), " AND ".join(f"old.{key} <=> new.{key}" for key in keys))
            .whenMatchedUpdateAll()
            .whenNotMatchedInsertAll()
            .execute()
        )

    for_each_batch(activity.writeStream.outputMode("update"), table, merge)


def from_csv(column: str, schema: str) -> Column:
    return F.from_csv(F.col(column).cast("string"), schema, {"escape": '"'})


def append(rows: DataFrame, table: str) -> None:
    writer = rows.writeStream.format("delta").outputMode("append").option("checkpointLocation", f"{table}_checkpoint")
    writer.trigger(availableNow=True).start(table).awaitTermination()


def for_each_batch(writer: DataStreamWriter, table: str, merge: Callable[[DataFrame, int], None]) -> None:
    writer = writer.foreachBatch(merge).option("checkpointLocation", f"{table}_checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


def main() -> None:
    spark = (
        SparkSession.builder.appName("tutorial")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    answer_requests(lambda request: drain(spark, request["servers"], request["folder"]))
    spark.stop()


if __name__ == "__main__":
    main()
