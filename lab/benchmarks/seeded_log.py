"""The broker and the log that all contenders share: the simulated feed of one seed, cut off after so many scans."""

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Message, TopicPartition

from pipelines import commands
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer
from pipelines.live import topics
from pipelines.settings import Broker, Kafka, Settings
from pipelines.simulation.feed import Record, feed
from pipelines.stack import stack
from pipelines.stack.simulate import append_paced
from tests.ports import unused_ports

SEED = 1
RECORDS = pa.schema(
    {
        "kafka_topic": pa.string(),
        "kafka_partition": pa.int32(),
        "kafka_offset": pa.int64(),
        "kafka_timestamp": pa.timestamp("ms", "UTC"),
        "key": pa.binary(),
        "value": pa.binary(),
    }
)


@dataclass(frozen=True)
class SeededLog:
    """What was appended. `packages` is how many of the simulated world's packages have begun in it."""

    scans: int
    routes: int
    packages: int


@contextmanager
def broker(home: Path, kafka: Kafka | None = None) -> Iterator[Settings]:
    """An embedded broker with the contract's topics on free ports, its data in `home` until the block ends."""
    port, controller_port = unused_ports()
    settings = Settings(home=home, broker=Broker(port=port, controller_port=controller_port), kafka=kafka or Kafka())
    try:
        stack.start(["broker"], settings, lambda _: None)
        topics.run(commands.Topics(), settings)
        yield settings
    finally:
        stack.stop(settings, lambda _: None)
        shutil.rmtree(home, ignore_errors=True)


def append_seeded(settings: Settings, scans: int, packages: int) -> SeededLog:
    """Appends the feed of `packages` packages, up to its scan number `scans`. Byte-identical at every call."""
    world = commands.Simulate(seed=SEED, packages=packages)
    records = _until(feed(world.seed, packages, world.start), scans)
    begun: set[bytes] = set()
    done = append_paced(
        _noting_keys(records, begun), 0, None, LogProducer(Connection(settings.bootstrap_servers)), threading.Event()
    )
    return SeededLog(done.events, done.routes, len(begun))


def _until(records: Iterable[Record], scans: int) -> Iterator[Record]:
    for record in records:
        if record.topic == SHIP_EVENTS.name:
            if scans == 0:
                return
            scans -= 1
        yield record


def _noting_keys(records: Iterable[Record], keys: set[bytes]) -> Iterator[Record]:
    for record in records:
        if record.key and record.key.isdigit():
            keys.add(record.key)
        yield record


def dump(bootstrap_servers: str, path: Path) -> None:
    """Writes every record of the input topics, byte for byte and with its coordinates, into one Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, RECORDS) as writer:
        for portion in portions(bootstrap_servers):
            writer.write_table(portion)


def portions(bootstrap_servers: str, at_once: int = 50_000) -> Iterator[pa.Table]:
    """The records of the input topics up to their ends, as `RECORDS`."""
    names = [topic.name for topic in INPUT_TOPICS]
    ends = end_offsets(Connection(bootstrap_servers), names)
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "dump", "enable.auto.commit": False})
    consumer.assign([TopicPartition(name, number, 0) for name in names for number in ends[name]])
    missing = sum(sum(partitions.values()) for partitions in ends.values())
    while missing > 0:
        messages = [message for message in consumer.consume(at_once, timeout=1.0) if message.error() is None]
        if messages:
            missing -= len(messages)
            columns = zip(*map(_row, messages), strict=True)
            yield pa.table(dict(zip(RECORDS.names, columns, strict=True)), RECORDS)
    consumer.close()


def _row(message: Message) -> tuple[object, ...]:
    coordinates = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
    return *coordinates, message.key(), message.value()
