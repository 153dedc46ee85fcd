"""Brokers that are away in the middle of a mover's transaction: librdkafka may keep the call for ever."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pipelines.errors import AccessRefused, BrokerUnavailable
from pipelines.io.kafka import mover as module
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.mover import Mover
from tests.ports import unused_ports


class Producer:
    """Of librdkafka, while its brokers are away."""

    def __init__(self, failures: list[KafkaException], polled: Any = None) -> None:
        self.failures = failures
        self.polled = polled
        self.over = Event()

    def init_transactions(self, _: float) -> None:
        if self.failures:
            raise self.failures.pop()
        self.over.wait()

    def poll(self, _: float) -> None:
        if self.polled:
            self.polled()


@pytest.fixture
def mover(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mover]:
    monkeypatch.setattr(module, "begin_offsets", lambda *_: {"ship-events-intake": {0: 0}})
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    port, _ = unused_ports()
    with closing(Mover(Connection(f"127.0.0.1:{port}"), {"ship-events-intake": "ship-events"}, lambda _: [])) as mover:
        yield mover


def begin(mover: Mover, producer: Producer) -> None:
    mover._producer = producer  # type: ignore[assignment]
    try:
        mover.begin()
    finally:
        producer.over.set()


def test_mover_gives_up_a_call_that_does_not_come_back(mover: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.1)
    with pytest.raises(BrokerUnavailable, match="Nothing of it counts"):
        begin(mover, Producer([]))


def test_mover_tells_of_a_refusal_while_a_call_does_not_come_back(mover: Mover) -> None:
    refusal = KafkaError(KafkaError._AUTHENTICATION, "invalid credentials")
    with pytest.raises(AccessRefused, match="invalid credentials"):
        begin(mover, Producer([], polled=lambda: mover._refusals.note(refusal)))


def test_mover_asks_brokers_itself_while_a_call_does_not_come_back(
    mover: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter((BrokerUnavailable("away"), AccessRefused("invalid credentials")))

    def end_offsets(*_: object) -> None:
        raise next(answers)

    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(module, "end_offsets", end_offsets)
    with pytest.raises(AccessRefused, match="invalid credentials"):
        begin(mover, Producer([]))


def test_call_is_repeated_only_where_that_may_help(mover: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 10.0)
    retriable = KafkaException(KafkaError(KafkaError._TIMED_OUT, "of its own", retriable=True))
    final = KafkaException(KafkaError(KafkaError._STATE, "of its own"))
    producer = Producer([final, retriable])
    with pytest.raises(BrokerUnavailable, match="of its own"):
        begin(mover, producer)
    assert not producer.failures
