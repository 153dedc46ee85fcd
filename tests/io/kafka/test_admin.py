from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka import admin
from pipelines.io.kafka.connection import Connection

IN_DOUBT = [
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
]


class Cluster:
    """A client of a topic with one partition, at offset 7. The first questions for it are answered with the errors."""

    def __init__(self, errors: list[int]) -> None:
        self._errors = errors

    def describe_topics(self, *_: Any, **__: Any) -> dict[str, Future[Any]]:
        return {"ship-events": _done(SimpleNamespace(partitions=[SimpleNamespace(id=0)]))}

    def list_offsets(self, wanted: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        answer = KafkaException(KafkaError(self._errors.pop(0))) if self._errors else SimpleNamespace(offset=7)
        return {part: _done(answer) for part in wanted}

    def result(self, answer: Future[Any]) -> Any:
        return answer.result()


def _done(answer: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future


@pytest.mark.parametrize("code", IN_DOUBT)
def test_offsets_are_asked_for_again_while_a_partitions_leader_is_in_doubt(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "open_client", lambda _: Cluster([code, code]))
    assert admin.end_offsets(Connection("here:9092"), ["ship-events"]) == {"ship-events": {0: 7}}


def test_another_refusal_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster([KafkaError.UNSUPPORTED_VERSION])
    monkeypatch.setattr(admin, "open_client", lambda _: cluster)
    with pytest.raises(BrokerUnavailable, match="refuses"):
        admin.end_offsets(Connection("here:9092"), ["ship-events"])


def test_topic_that_goes_away_between_two_questions_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster([])
    gone = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    monkeypatch.setattr(
        cluster, "describe_configs", lambda asked, **_: {each: _done(gone) for each in asked}, raising=False
    )
    monkeypatch.setattr(admin, "open_client", lambda _: cluster)
    assert admin.topic_states(Connection("here:9092"), ["ship-events"]) == {}
