"""How Flink is run: one JVM with one task manager, a slot per core, tuned for throughput or for latency."""

import os
import sys
from pathlib import Path
from string import Template
from typing import Literal

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.benchmarks.driving import Command
from lab.benchmarks.flink.setup import class_path

HERE = Path(__file__).resolve().parent
JAVA = Path(sys.prefix) / "runtime" / "java" / "bin" / "java"
CORES = str(len(os.sched_getaffinity(0)))
HEAP = "6g"
PARTITIONS = 4
"""As the topics of the product."""

JVM_OPTIONS = (
    f"-Xmx{HEAP}",
    "-XX:+UseParallelGC",
    "-XX:+UseCompactObjectHeaders",
    "-Duser.timezone=UTC",
    "--enable-native-access=ALL-UNNAMED",
    f"-Dlog4j2.configurationFile={(HERE / 'log4j2.properties').as_uri()}",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in ("java.lang", "java.util", "java.time", "java.net", "java.io", "java.nio", "sun.nio.ch")
    ),
)

COMMON = {
    "rest.port": "0",
    "taskmanager.numberOfTaskSlots": CORES,
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "parallelism.default": CORES,
    "table.local-time-zone": "UTC",
    "state.backend.type": "hashmap",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.storage": "filesystem",
    "pipeline.object-reuse": "true",
    "restart-strategy.type": "disable",
    # Hadoop, which the Parquet writer needs, asks for the user in a way that Java 24 has taken out.
    "security.delegation.tokens.enabled": "false",
}

THROUGHPUT = COMMON | {
    "execution.checkpointing.interval": "5s",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1s",
    "table.exec.mini-batch.size": "5000",
    "table.exec.sink.upsert-materialize": "NONE",
    # The view of the scans is one block of the plan. Without this, each of its readers takes the lines apart again.
    "table.optimizer.reuse-optimize-block-with-digest-enabled": "true",
}

WITHOUT_MINI_BATCHES = {name: value for name, value in THROUGHPUT.items() if "mini-batch" not in name}
"""With them, Flink plans "the first of its identity" as a table that changes, which a sink of files does not take."""

LATENCY = COMMON | {"execution.checkpointing.interval": "1s"}

Script = Literal["light", "full", "latency"]
SETTINGS: dict[Script, dict[str, str]] = {"light": THROUGHPUT, "full": WITHOUT_MINI_BATCHES, "latency": LATENCY}


def command(name: Script, folder: Path) -> Command:
    """The process that runs a script, see `java/SqlRunner.java`; its checkpoints are in the folder."""
    settings = SETTINGS[name] | {"execution.checkpointing.dir": (folder / "checkpoints").as_uri()}
    arguments = (f"{name}={value}" for name, value in settings.items())
    argv = (str(JAVA), *JVM_OPTIONS, "-cp", class_path(), "superfastpts.benchmarks.SqlRunner", *arguments)
    return Command(argv, {})


def script(name: Script, servers: str, folder: Path) -> Path:
    """Writes the script for one run into the folder, and makes the topic that its reports go to."""
    folder.mkdir(parents=True, exist_ok=True)
    topic = reports_topic(folder)
    _make_topic(servers, topic)
    path = folder / f"{name}.sql"
    path.write_text(script_text(name, servers, folder))
    return path


def script_text(name: Script, servers: str, folder: Path) -> str:
    """The script's statements; a blank line ends each, and is within none."""
    parts = (name,) if name == "full" else ("ship_events", name)
    text = Template("\n".join((HERE / "sql" / f"{part}.sql").read_text() for part in parts))
    bound = "unbounded" if name == "latency" else "latest-offset"
    return text.substitute(servers=servers, folder=folder, reports=reports_topic(folder), bound=bound)


def reports_topic(folder: Path) -> str:
    """A topic of its own for each folder."""
    return f"{folder.name}-reports"


def reported(servers: str, folder: Path) -> int:
    """Packages with a report in the folder's topic, in committed transactions."""
    topic = reports_topic(folder)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "count", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    packages: set[bytes | None] = set()
    at_end = 0
    while at_end < PARTITIONS:
        for message in consumer.consume(10_000, timeout=1.0):
            error = message.error()
            if error is None:
                packages.add(message.key())
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end += 1
    consumer.close()
    return len(packages)


def _make_topic(servers: str, name: str) -> None:
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for future in client.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        future.result()
