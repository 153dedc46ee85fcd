"""A queue that is full is waited for, and no record is lost or doubled by it. A refusal is not told for ever."""

import time
from contextlib import closing
from typing import Any, cast

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError
from pyspark.sql import SparkSession

from pipelines.errors import AccessRefused, BrokerUnavailable
from pipelines.io.kafka import producer as producers
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog
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

    def poll(self, _seconds: float) -> None:
        """Nothing has come."""

    def flush(self, _seconds: float) -> int:
        return 0


class Failing(Queue):
    """Of which no record is taken, by what librdkafka tells."""

    def __init__(self, code: int, told: dict[str, Any]) -> None:
        super().__init__(1_000)
        self.code, self.told = code, told["on_delivery"]

    def flush(self, _seconds: float) -> int:
        if self.taken:
            self.told(KafkaError(self.code), None)
        return 0


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


@pytest.mark.parametrize("code", [KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError._DESTROY])
def test_messages_go_by_a_new_producer_once_the_topic_is_another_than_the_kept_one_saw(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = Queue(1)
    send(monkeypatch, code, taking)
    assert [record[:2] for record in taking.taken] == [("package-reports", b"42")]


def test_messages_that_brokers_do_not_take_fail_the_send(monkeypatch: pytest.MonkeyPatch) -> None:
    taking = Queue(1)
    with pytest.raises(BrokerUnavailable, match="did not take a record"):
        send(monkeypatch, KafkaError._MSG_TIMED_OUT, taking)
    assert taking.taken == []


def use(producer: LogProducer) -> None:
    """Until it was refused, which takes a moment."""
    for _ in range(200):
        producer.flush()
        time.sleep(0.05)


def send(monkeypatch: pytest.MonkeyPatch, code: int, taking: Queue) -> None:
    """A message, by a producer that fails with the code, and by a second where one is asked for."""
    made = iter((lambda options: Failing(code, options), lambda _options: taking))
    monkeypatch.setattr(producers, "Producer", lambda options: next(made)(options))
    log = KafkaLog(cast(SparkSession, None), Connection(f"127.0.0.1:{unused_ports()[0]}"))
    log.send(pa.table({"key": ["42"], "value": ["{}"]}), "package-reports")
