"""When did which message arrive? A consumer at the end of a topic, in a thread of its own."""

import json
import threading
import time
from array import array
from types import TracebackType

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from lab.benchmarks.delays import MESSAGES
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection

POLL_SECONDS = 0.01
"""The most by which an arrival is noted too late."""
QUIET_SECONDS = 5.0


class Arrivals:
    """Notes the messages of a topic from its end on while the block lasts: package, offset of its event, time.

    A transaction's messages arrive when it is committed.
    """

    def __init__(self, servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "arrivals",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        ends = end_offsets(Connection(servers), [topic])[topic]
        self._consumer.assign([TopicPartition(topic, number, offset) for number, offset in ends.items()])
        self._packages, self._offsets, self._times = array("q"), array("q"), array("d")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Arrivals":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._done.is_set():
            messages = self._consumer.consume(5_000, POLL_SECONDS)
            now = time.time()
            for message in messages:
                value = message.value()
                if message.error() is not None or value is None:
                    continue
                report = json.loads(value)
                if report["eventKafkaOffset"] is not None:
                    self._packages.append(report["trackingNumber"])
                    self._offsets.append(report["eventKafkaOffset"])
                    self._times.append(now)

    def await_quiet(self, limit_seconds: float) -> None:
        """Returns when nothing has arrived for some seconds, or after the limit."""
        deadline = time.time() + limit_seconds
        while time.time() < deadline and (not self._times or time.time() - self._times[-1] < QUIET_SECONDS):
            time.sleep(0.2)

    def table(self) -> pa.Table:
        """What has arrived, as `delays.MESSAGES`."""
        return pa.table([pa.array(column) for column in (self._packages, self._offsets, self._times)], schema=MESSAGES)
