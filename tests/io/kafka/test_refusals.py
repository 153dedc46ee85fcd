"""What is told of a refusal."""

import pytest
from confluent_kafka import KafkaError

from pipelines.errors import AccessRefused
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.refusals import Refusals

TOLD = "sasl_ssl://127.0.0.1:9/1: SASL authentication error: invalid credentials"


def refusal(attempt: str) -> str:
    refusals = Refusals(Connection("127.0.0.1:9"))
    refusals.note(KafkaError(KafkaError._AUTHENTICATION, f"{TOLD} ({attempt})"))
    with pytest.raises(AccessRefused) as refused:
        refusals.check()
    return str(refused.value)


def test_refusal_that_comes_again_is_told_in_the_same_words() -> None:
    first = refusal("after 301ms in state AUTH_REQ")
    assert first == refusal("after 2ms in state AUTH_REQ, 4 identical error(s) suppressed")
    assert first.endswith(f"127.0.0.1:9 was told: {TOLD}")
