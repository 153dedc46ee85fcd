"""How values and times are written."""

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache

from pipelines.contracts.encode import csv_record, json_object
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.topics import Topic
from pipelines.simulation.units import MINUTE_US
from pipelines.simulation.world import Carrier
from pipelines.wire_format import WireFormat

Fields = tuple[str, ...]
"""The texts of a value in the order of the topic's fields; an empty text is null."""

Encode = Callable[[Fields], bytes]


def encoder(topic: Topic, wire_format: WireFormat) -> Encode:
    """The function that writes the values of `topic`."""
    return csv_record if wire_format == "csv" else lambda fields: json_object([text or None for text in fields], topic)


def written_time(epoch_us: int, carrier: Carrier) -> str:
    """`occurredAt` as the carrier's scanners write it, truncated to their precision."""
    _, separator, fraction_digits, offset_minutes, offset_text = carrier
    minute, rest_us = divmod(epoch_us, MINUTE_US)
    digits = f"{rest_us:08d}500"
    point = "." if fraction_digits else ""
    minute_text = _minute(minute + offset_minutes, separator)
    return f"{minute_text}{digits[:2]}{point}{digits[2 : 2 + fraction_digits]}{offset_text}"


@lru_cache(maxsize=1 << 15)
def _minute(epoch_minute: int, separator: str) -> str:
    """`yyyy-MM-ddTHH:mm:`, remembered: the scans of the packages under way fall into few different minutes."""
    return (EPOCH + timedelta(minutes=epoch_minute)).isoformat(separator, "minutes")[:16] + ":"
