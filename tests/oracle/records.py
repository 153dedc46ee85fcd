"""A record of the log, as any Kafka consumer sees it."""

from dataclasses import dataclass

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One Kafka record with its coordinates."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] | None = None

    @property
    def timestamp(self) -> int:
        """The Kafka timestamp in microseconds since the epoch, the unit of every time in the oracle; of one beyond the
        years 1 to 9999 the nearest of these."""
        return min(max(self.timestamp_ms, -62_135_596_800_000), 253_402_300_799_999) * 1000
