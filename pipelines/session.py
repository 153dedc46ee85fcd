"""The one place that builds a Spark session."""

import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import InvalidInput, LakeUnavailable, SetupIncomplete
from pipelines.host_environment import leave_aside, name_user, scratch_below, user_has_a_name
from pipelines.java_process import LAST_WORDS_SECONDS
from pipelines.java_runtime import JARS, JAVA, JAVA_HOME, RUNTIME
from pipelines.progress import part
from pipelines.settings import Settings

LOG_CONFIGURATION = Path(__file__).resolve().parent.parent / "infra" / "spark" / "log4j2.properties"

AOT_CACHE = RUNTIME / "spark.aot"
"""What Java recorded of a run of the job (`infra/aot_cache.py`), to start and warm up faster."""

NAMELESS_LOGIN = JARS / "nameless-login.jar"
"""In place of Java's own way to tell the user's name, which fails where the system knows none
(`infra/java/UnixLoginModule.scala`)."""

OWN_JARS = JARS / "batches.jar", JARS / "stores.jar"
"""Of classes of this project's own (`infra/java`); the second, where the lake is in an object store."""

EVERY_JAVA = (
    "-Duser.timezone=UTC "
    # On two cores the collector that stops everything and is done beats the one that works beside the job: 15 % of a
    # batch.
    "-XX:+UseParallelGC -XX:+UseCompactObjectHeaders "
    # Its counters would be a file in /tmp, whatever the folder for temporary files is.
    "-XX:+PerfDisableSharedMem "
    # Why it could not use the cache it would tell on standard output, where the job's lines go.
    "-Xlog:aot*=off -Xlog:aot*=error:stderr"
)
"""Options of the driver and of executors. The recorded cache fits a Java with these alone."""

JAVA_OPTIONS = (
    f"{EVERY_JAVA} -Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()} "
    # Spark survives the loss of a helper thread, and then waits for its work for ever.
    "-XX:+ExitOnOutOfMemoryError"
)

EXECUTOR_OPTIONS = f"-XX:+IgnoreUnrecognizedVMOptions {EVERY_JAVA}"
"""Where another system than a standalone cluster starts them, their Java may be an older one."""

# Why each: see docs/architecture.md, "Spark settings". None changes what a row means, except the time zone, which
# fixes it.
PROPERTIES = {
    "spark.sql.session.timeZone": "UTC",
    # A path is one of this machine, whatever HADOOP_CONF_DIR calls the default.
    "spark.hadoop.fs.defaultFS": "file:///",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Micros, not the INT96 of old: file statistics and every other reader understand them.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A micro-batch runs the same few dozen plans again and again; the default cache of 100 compiled stages thrashes.
    "spark.sql.codegen.cache.maxEntries": "5000",
    # HotSpot never compiles a method of more than 8000 bytes of bytecode; Spark's own limit is 65535. Above this one,
    # Spark runs a plan step by step, and copies the rows between two steps.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Shuffles have few partitions anyway; planning each of their stages again is a job more for every one.
    "spark.sql.adaptive.enabled": "false",
    # The state of a Delta log of a few thousand files fits one task; the default is 50.
    "spark.databricks.delta.snapshotPartitions": "1",
    # Otherwise PySpark looks up the caller's line, and a notebook, for each of the thousands of columns of a batch.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Files are named to Spark (`Lake.scan`); above so many it would look at each of them in a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # The job plans its reads again in each batch; consumers of the last one, and what they have
    # fetched ahead, are of no use for long.
    "spark.kafka.consumer.cache.timeout": "5s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "5s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    # Every hash table and sort begins with a page, by default of a 32nd of the heap: zeroed, and soon garbage.
    "spark.buffer.pageSize": "2m",
    # Records may be large: where Spark reads and writes Parquet (a replay of what Kafka deleted, a comparison), it
    # holds few rows at once, not 4,096 and 100. What a reader holds of a column of many bytes grows by a fifth, not to
    # twice what is needed, and is freed after its rows.
    "spark.sql.parquet.columnarReaderBatchSize": "16",
    "spark.sql.inMemoryColumnarStorage.hugeVectorThreshold": "8m",
    "spark.sql.inMemoryColumnarStorage.hugeVectorReserveRatio": "1.2",
    "spark.hadoop.parquet.page.size.row.check.min": "1",
    "spark.hadoop.parquet.block.size.row.check.min": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Loads what a task's Python needs once, before it is forked.
    "spark.python.daemon.module": "pipelines.engine.task_daemon",
    # What tasks hand to Python at once: records may be large.
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.driver.maxResultSize": "256m",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # Spark's own starts processes for each file of a checkpoint, and there are two in every batch
    # (infra/java/FolderCheckpoint.scala).
    "spark.sql.streaming.checkpointFileManagerClass": "superfastpts.FolderCheckpointFileManager",
}


S3 = {
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    # Spark's own would let two jobs write the same file of a checkpoint (infra/java/ConditionalCheckpoint.scala).
    "spark.sql.streaming.checkpointFileManagerClass": "superfastpts.ConditionalCheckpointFileManager",
    # Nothing else is written by this client: files of a few hundred bytes, which would go through a folder in /tmp.
    "spark.hadoop.fs.s3a.fast.upload.buffer": "array",
}
"""For a lake in an object store."""


LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Nothing that runs in this process listens beyond the loopback interface."""

CLUSTER = {
    # Who can reach the ports of driver and executors has nothing of it without the secret; what they send each other,
    # and what they put on local disks, is encrypted.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
    # A worker that is cut off is given up, and its tasks run elsewhere, before a batch is half a minute late; by
    # default after two minutes.
    "spark.executor.heartbeatInterval": "4s",
    "spark.network.timeout": "16s",
    "spark.network.timeoutInterval": "4s",
    # Firewalls know them; where one is taken, Spark takes the next that is free.
    "spark.driver.port": "7100",
    "spark.blockManager.port": "7200",
}
"""On machines of others."""

TASK_ATTEMPTS = 4
"""Spark's default everywhere but on this machine, where it would be 1."""


def is_local(settings: Settings) -> bool:
    """Whether there are no executors but this machine's one Java."""
    return settings.spark.master.startswith("local")


def open_session(settings: Settings, name: str = "pts", required: Mapping[str, str] | None = None) -> SparkSession:
    """Starts Spark on the environment's own Java and jars, or returns the session that already runs in this process.
    Properties that are `required` hold whatever the settings say.

    Raises `InvalidInput` for a standalone cluster without its secret, `SetupIncomplete` when the runtime is missing,
    `LakeUnavailable` when $PTS_HOME cannot be written, `JavaEnded` when Java ends before the session is there.
    """
    jars = spark_jars(with_stores=settings.is_in_store)
    if not jars or not JAVA.exists():
        raise SetupIncomplete(f"There is no Java runtime with Spark's jars under {RUNTIME}. Run `make setup`.")
    if ignored := leave_aside(os.environ):
        sys.stderr.write(
            f"pts: {', '.join(ignored)} of the environment is left aside: Spark is that of `make setup`.\n"
        )
    name_user(os.environ)
    os.environ["JAVA_HOME"] = str(JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    scratch = scratch_of(settings.home)
    java_options, executor_options = f"{JAVA_OPTIONS} {quoted(f'-Djava.io.tmpdir={scratch}')}", EXECUTOR_OPTIONS
    if not user_has_a_name():
        java_options += f" {quoted(f'--patch-module=jdk.security.auth={NAMELESS_LOGIN}')}"
    elif AOT_CACHE.exists():
        recorded = quoted(f"-XX:AOTCache={AOT_CACHE}")
        java_options, executor_options = f"{java_options} {recorded}", f"{executor_options} {recorded}"
    if url := settings.kafka.security.token_endpoint_url:  # Kafka's client asks no other address
        allowed = quoted(f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}")
        java_options, executor_options = f"{java_options} {allowed}", f"{executor_options} {allowed}"
    properties = {
        "spark.jars": ",".join(jar.as_uri() for jar in jars),
        "spark.driver.memory": f"{settings.spark.driver_memory_mb}m",
        "spark.driver.extraJavaOptions": java_options,
        "spark.executor.extraJavaOptions": executor_options,
        "spark.jars.ivy": str(scratch / "ivy"),  # nothing is fetched, but the folder has to be somewhere
        "spark.sql.shuffle.partitions": str(settings.spark.shuffle_partitions),
        "spark.hadoop.fs.permissions.umask-mode": settings.umask,  # Hadoop sets permissions, whatever the process's are
        "spark.executorEnv.PTS_UMASK": settings.umask,
        "spark.sql.warehouse.dir": str((settings.home / "spark-warehouse").resolve()),
        **(LOCAL if is_local(settings) else CLUSTER),
        **PROPERTIES,
        **(S3 | settings.storage.of_spark() if settings.is_in_store else {}),
        **settings.spark.properties(),
        **(required or {}),
    }
    if settings.spark.master.startswith("spark:") and lacks_secret(properties):
        raise InvalidInput(
            "A standalone cluster authenticates by one secret: set spark.authenticate.secret in "
            "PTS_SPARK__SECRET_CONF, as its master and workers have it, or "
            'PTS_SPARK__CONF={"spark.authenticate": "false"} where its network is trusted.'
        )
    conf = SparkConf().setAppName(name).setMaster(with_retries(settings.spark.master))
    conf.setAll(list(properties.items()))
    if is_local(settings):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    logging.getLogger().addFilter(_is_not_of_the_gateway)
    logging.getLogger("py4j").propagate = False
    # It prints each failure that is raised, with values of rows.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    try:
        with part("Starting Spark"):
            java_process.start(conf)
            session = SparkSession.builder.config(conf=conf).getOrCreate()
    except Exception as error:
        if not _is_of_the_first_connection(error) and java_process.exit_code(LAST_WORDS_SECONDS) is None:
            raise
        raise java_process.ended("while it started") from error
    # Of accumulators in Python, which nothing here uses: its server would print a traceback when the JVM ends first.
    session.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    return session


def spark_jars(*, with_stores: bool) -> list[Path]:
    """What Spark needs beside its own, with those for object stores or without; nothing where the set-up is older."""
    folders, own = (("spark", "s3"), OWN_JARS) if with_stores else (("spark",), OWN_JARS[:1])
    jars = [jar for folder in folders for jar in sorted((JARS / folder).glob("*.jar"))]
    return [*jars, *own] if jars and all(jar.exists() for jar in own) else []


def with_retries(master: str) -> str:
    """The master URL; on this machine, too, a task is tried again whose process has ended, as often as on others."""
    return re.sub(r"\Alocal\[([^,\]]+)\]\Z", rf"local[\1,{TASK_ATTEMPTS}]", master)


def lacks_secret(properties: Mapping[str, str]) -> bool:
    """Whether Spark would authenticate and could not. YARN and Kubernetes make a secret for each application."""
    return properties["spark.authenticate"] == "true" and "spark.authenticate.secret" not in properties


def scratch_of(home: Path) -> Path:
    """The folder for all that is temporary, below $PTS_HOME: /tmp may be full, read-only, or allow no code."""
    try:
        return scratch_below(home)
    except OSError as error:
        raise LakeUnavailable(
            f"PTS_HOME {home.resolve()} cannot be written: {error.strerror}. Set PTS_HOME to another folder."
        ) from error


def quoted(java_option: str) -> str:
    """The option as one word among those of a Spark property, whatever is in a path."""
    escaped = java_option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _is_of_the_first_connection(error: Exception) -> bool:
    """Whether Java went before PySpark had a connection to it, and with that its process."""
    if SparkContext._gateway:
        return False
    return isinstance(error, Py4JNetworkError | ConnectionError) or "JAVA_GATEWAY_EXITED" in str(error)


def _is_not_of_the_gateway(record: logging.LogRecord) -> bool:
    """A call whose Java has gone raises; py4j logs its traceback besides, and in the root logger's name."""
    return record.module != "java_gateway"


def close_session(spark: SparkSession) -> None:
    """Stops the session, and ends the connection to its Java.

    With that goes what Java's callbacks hold in this process: of a batch that failed, all that it had in hand, whose
    loss DuckDB's binding would lament on standard error when the process ends.
    """
    gateway = spark.sparkContext._gateway
    if java_process.exit_code() is None:
        spark.stop()
    if gateway:
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None  # a session opened later starts a Java of its own
