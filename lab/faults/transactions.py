"""Producers that write in transactions: committed, taken back, left open for a while, ended by a later producer.

python -m lab.faults.transactions localhost:9092 journal.csv --seed 7 --rate 60

It runs beside the load, as a process of its own. What was committed is noted in the load's journal, what was taken back
in one beside it. At its end, it leaves aborted records as the last ones of every partition.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.faults.load import PATIENCE_SECONDS, aborted_beside, client_options, digest, line, main, records_of
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.simulation.pacing import slices
from pipelines.simulation.record import Record

WRITERS = 3
"""So many transactions are open at once."""

END_SHARE = 0.04
"""Of the slices of a feed, those after which a transaction ends: at 60 records per second it is open for a second, and
now and then for several."""

ENDS = ("committed", "committed", "aborted", "fenced")
ANSWER_SECONDS = 5.0
OPEN_SECONDS = 800
"""Longer than a transaction of a case: no broker ends one by itself."""


class Writer:
    """A producer with a `transactional.id`.

    Attributes:
        lines: Of the open transaction, what the broker has acknowledged.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._producer = Producer(
            {
                **client_options(),
                "partitioner": "murmur2",
                "transactional.id": name,
                "transaction.timeout.ms": OPEN_SECONDS * 1000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        until_answered(self._producer.init_transactions)
        self.lines: list[str] = []
        self.is_open = False

    def send(self, records: Iterable[Record], partition: int = -1) -> None:
        """Appends to the open transaction, or begins one."""
        if not self.is_open:
            self._producer.begin_transaction()
            self.lines, self.is_open = [], True
        for topic, key, value, timestamp_ms in records:
            noted = partial(self._note, digest(key, value))
            self._producer.produce(topic, value, key, partition, timestamp=timestamp_ms, on_delivery=noted)
        self._producer.poll(0)

    def _note(self, told: str, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.lines.append(line(message, told))

    def partitions(self, topic: str) -> list[int]:
        return sorted(self._producer.list_topics(topic, ANSWER_SECONDS).topics[topic].partitions)

    def commit(self) -> None:
        until_answered(self._producer.commit_transaction)
        self.is_open = False

    def abort(self) -> None:
        assert self._producer.flush(PATIENCE_SECONDS) == 0  # so that what is taken back is on the log
        until_answered(self._producer.abort_transaction)
        self.is_open = False

    def fenced(self) -> "Writer":
        """The next producer of the same id: by it the broker takes back what is open, and lets this one commit no more.

        Raises `AssertionError` when it does let it.
        """
        assert self._producer.flush(PATIENCE_SECONDS) == 0
        later = Writer(self._name)
        try:
            until_answered(self._producer.commit_transaction)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FENCED:
                return later
            raise
        raise AssertionError("a producer committed that a later one had fenced")


def until_answered(step: Callable[[float], object]) -> None:
    """Does a step of a transaction, as often as it takes for a broker that is away to answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            step(ANSWER_SECONDS)
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


def run(asked: argparse.Namespace, stop: threading.Event) -> None:
    """Appends until it is asked to stop; then ends what is open."""
    chance, records = Random(asked.seed), records_of(asked)
    writers = [Writer(f"{asked.seed}-{number}") for number in range(WRITERS)]
    with asked.journal.open("a", buffering=1) as kept, aborted_beside(asked.journal).open("a", buffering=1) as aborted:

        def end(number: int) -> None:
            writer = writers[number]
            how = chance.choice(ENDS)
            if how == "committed":
                writer.commit()
            elif how == "aborted":
                writer.abort()
            else:
                writers[number] = writer.fenced()
            (kept if how == "committed" else aborted).writelines(writer.lines)

        for part in slices(records, asked.rate, None, stop.wait):
            number = chance.randrange(WRITERS)
            writers[number].send(part)
            if chance.random() < END_SHARE:
                end(number)
        for number, writer in enumerate(writers):
            if writer.is_open:
                end(number)
        last = Writer(f"{asked.seed}-last")
        for topic in INPUT_TOPICS:
            for partition in last.partitions(topic.name):
                last.send([next(records)._replace(topic=topic.name)], partition)
        last.abort()
        aborted.writelines(last.lines)


if __name__ == "__main__":
    main(run)
