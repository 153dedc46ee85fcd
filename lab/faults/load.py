"""The load of a campaign: a seeded feed, and a journal of what the broker acknowledged.

python -m lab.faults.load journal.csv --seed 7 --rate 300     to the brokers of the settings, as who may write there

It runs as a process of its own. It has no part in what reads the log, and is not ended by a broker that is away: what
was not acknowledged in time is not in the journal, and nobody promised to keep it.
"""

import argparse
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from random import Random

from confluent_kafka import KafkaError, Message, Producer

from lab.faults.records import ODD_TIMES_MS
from pipelines.commands import Simulate
from pipelines.contracts.encode import csv_record
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.kafka.connection import Connection
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.settings import Settings
from pipelines.simulation.feed import feed
from pipelines.simulation.pacing import slices
from pipelines.simulation.record import Record
from pipelines.simulation.scans import FAILED
from tests.oracle.records import LogRecord

PACKAGES = 20_000
"""Hours of records at the usual rate: after the last one, a job that is to die at a write would wait."""

ATTEMPT_EVERY = 20

ODD_TIME_EVERY = 10
ODD_TIMES_OF_A_LOAD = 4
"""Not all of them in each, for what Spark cannot read is read in another way, and so is all that comes behind it."""

PATIENCE_SECONDS = 120.0
"""Longer than any broker of a campaign is away."""

Acknowledged = tuple[str, int, int, str]
"""Topic, partition, offset, and the digest of key and value."""


def digest(key: bytes | None, value: bytes | None) -> str:
    """Of a record, whatever its parts hold."""
    return blake2b(repr((key, value)).encode(), digest_size=12).hexdigest()


def acknowledged(journal: Path) -> list[Acknowledged]:
    """What the journal says; without its last line where that was cut off."""
    lines = journal.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if journal.exists() else []
    found = [line.split(",") for line in lines]
    return [(topic, int(partition), int(offset), told) for topic, partition, offset, told in found]


def not_once(journal: Path, log: list[LogRecord]) -> list[Acknowledged]:
    """What was acknowledged, and is not on the log where it was acknowledged to be, as it was."""
    there = _noted(log)
    return [each for each in acknowledged(journal) if each not in there]


def aborted_beside(journal: Path) -> Path:
    """The journal of what was taken back in transactions (`lab.faults.transactions`)."""
    return journal.with_name("aborted.csv")


def taken_back(journal: Path, log: list[LogRecord]) -> list[Acknowledged]:
    """What was taken back in a transaction, and is on the log as if it had not been."""
    return sorted(_noted(log).intersection(acknowledged(aborted_beside(journal))))


def _noted(log: list[LogRecord]) -> set[Acknowledged]:
    return {(record.topic, record.partition, record.offset, digest(record.key, record.value)) for record in log}


def with_alerts(records: Iterable[Record], seed: int) -> Iterator[Record]:
    """Adds packages of which each is not delivered four times within minutes: the feed alone has hardly an alert a day.

    A scan follows every `ATTEMPT_EVERY` records. No other seed has these packages.
    """
    for number, record in enumerate(records):
        yield record
        if not number % ATTEMPT_EVERY:
            package = str(PACKAGES * (1 + seed) + 1 + number // (4 * ATTEMPT_EVERY))
            at = datetime.fromtimestamp(record.timestamp_ms / 1000, UTC).isoformat()
            value = csv_record((package, at, *FAILED[0], "", "DE", "", "", "", "7"))
            yield Record(SHIP_EVENTS.name, package.encode(), value, record.timestamp_ms)


def with_odd_times(records: Iterable[Record], seed: int) -> Iterator[Record]:
    """Gives every `ODD_TIME_EVERY`-th record a time that its producer got wrong: one of a few that the seed draws."""
    chance = Random(seed)
    times = chance.sample(ODD_TIMES_MS, ODD_TIMES_OF_A_LOAD)
    for number, record in enumerate(records):
        yield record if number % ODD_TIME_EVERY else record._replace(timestamp_ms=chance.choice(times))


def records_of(asked: argparse.Namespace) -> Iterator[Record]:
    """What is sent, in order."""
    records = with_alerts(feed(asked.seed, PACKAGES, asked.start, "csv", "csv"), asked.seed)
    return with_odd_times(records, asked.seed) if asked.odd_times else records


def client_options() -> dict[str, str]:
    """Of a client that may write to the brokers of the settings."""
    return Connection.of(Settings(), "simulator").client_options()


def line(message: Message, told: str) -> str:
    """A record in a journal."""
    return f"{message.topic()},{message.partition()},{message.offset()},{told}\n"


def run(asked: argparse.Namespace, stop: threading.Event) -> None:
    """Appends until it is asked to stop; then waits for the acknowledgements that are under way."""
    producer = Producer(
        {
            **client_options(),
            "partitioner": "murmur2",
            "enable.idempotence": True,
            "message.timeout.ms": int(PATIENCE_SECONDS * 1000),
            "linger.ms": 5,
            "log_level": 0,
        }
    )
    with asked.journal.open("a", buffering=1) as out:

        def note(told: str, error: KafkaError | None, message: Message) -> None:
            if error is None:
                out.write(line(message, told))

        for part in slices(records_of(asked), asked.rate, None, stop.wait):
            for topic, key, value, timestamp_ms in part:
                noted = partial(note, digest(key, value))
                now_ms = timestamp_ms + asked.clock_off * 1000
                producer.produce(topic, value, key, timestamp=now_ms, on_delivery=noted)
            producer.poll(0)
        producer.flush(PATIENCE_SECONDS)


def main(send: Callable[[argparse.Namespace, threading.Event], None] = run) -> None:
    parser = argparse.ArgumentParser(description="Appends a seeded feed, and notes what was acknowledged.")
    parser.add_argument("journal", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--start", type=datetime.fromisoformat, default=Simulate().start, help="of the feed")
    parser.add_argument("--clock-off", type=int, default=0, help="seconds by which the producer's clock is ahead")
    parser.add_argument(
        "--odd-times", action="store_true", help="some records have times that their producer got wrong"
    )
    asked = parser.parse_args()
    with signals_ask_to_stop() as stop:
        sys.stdout.write("sending\n")
        sys.stdout.flush()
        send(asked, stop)


if __name__ == "__main__":
    main()
