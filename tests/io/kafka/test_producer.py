"""A queue that is full is waited for, and no record is lost or doubled by it. A refusal is not told for ever."""

import time
from contextlib import closing
from typing import Any

import pytest

from pipelines.errors import AccessRefused
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer, kept_producer, produce, shared_producer
from pipelines.kafka_security import Security
from tests.ports import unused_ports
from tests.tokens import Issuer, TokenEndpoint


class Queue:
    """Of librdkafka, with room for so many records."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken: list[tuple[Any, ...]] = []

    def produce(self, topic: str, value: bytes, key: bytes, timestamp: int) -> None:
        if not self.room:
            raise BufferError
        self.room -= 1
        self.taken.append((topic, key, value, timestamp))


def test_record_waits_until_there_is_room() -> None:
    queue: Any = Queue(0)
    waits = iter((0, 0, 1))

    def wait() -> None:
        queue.room = next(waits)

    produce(queue, "ship-events", b"42", b"value", 7, wait)
    assert queue.taken == [("ship-events", b"42", b"value", 7)]
    assert next(waits, None) is None


def test_whoever_waits_may_give_up() -> None:
    queue: Any = Queue(0)

    def give_up() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        produce(queue, "ship-events", b"42", b"value", 7, give_up)
    assert queue.taken == []


def test_kept_producer_that_was_refused_between_two_uses_is_replaced() -> None:
    with closing(TokenEndpoint(Issuer({"pts:secret": "pts"}))) as tokens:
        security = Security.model_validate(
            {
                "protocol": "SASL_PLAINTEXT",
                "mechanism": "OAUTHBEARER",
                "token_endpoint_url": tokens.url,
                "client_id": "pts",
                "client_secret": "secret",
            }
        )
        connection = Connection(f"127.0.0.1:{unused_ports()[0]}", security)
        with tokens.away():
            refused = shared_producer(connection)
            with pytest.raises(AccessRefused, match="token"):
                use(refused)
        with kept_producer(connection) as producer:
            producer.flush()
        assert producer is not refused
        with kept_producer(connection) as again:
            assert again is producer


def use(producer: LogProducer) -> None:
    """Until it was refused, which takes a moment."""
    for _ in range(200):
        producer.flush()
        time.sleep(0.05)
