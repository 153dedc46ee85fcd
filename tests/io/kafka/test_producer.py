"""A queue that is full is waited for, and no record is lost or doubled by it."""

from typing import Any

import pytest

from pipelines.io.kafka.producer import produce


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
