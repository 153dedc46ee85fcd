"""What the feed is made of."""

from typing import NamedTuple


class Record(NamedTuple):
    """One Kafka record as a producer hands it over. Its timestamp is its own (`CreateTime`), in milliseconds UTC."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
