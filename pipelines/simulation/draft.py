"""A record that is about to be sent: what a fault gets to spoil."""

from typing import NamedTuple

from pipelines.contracts.topics import Topic
from pipelines.simulation.record import Record
from pipelines.simulation.wire import Encode, Fields
from pipelines.simulation.world import Carrier


class Draft(NamedTuple):
    """A record in parts. `sent_ms` is when it should reach the log; the carrier is the one that writes it."""

    topic: Topic
    encode: Encode
    carrier: Carrier
    key: bytes
    fields: Fields
    sent_ms: int

    def value(self) -> bytes:
        return self.encode(self.fields)

    def with_field(self, name: str, text: str) -> "Draft":
        """This draft with another text in the field called `name`."""
        texts = zip(self.topic.fields, self.fields, strict=True)
        return self._replace(fields=tuple(text if field.name == name else was for field, was in texts))

    def record(self, delay_ms: int = 0) -> Record:
        """The record as it should be, `delay_ms` later than it should come."""
        return Record(self.topic.name, self.key, self.encode(self.fields), self.sent_ms + delay_ms)

    def spoiled(self, key: bytes | None, value: bytes | None) -> Record:
        """A record with these bytes instead, at the same time."""
        return Record(self.topic.name, key, value, self.sent_ms)
