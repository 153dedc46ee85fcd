"""How values and times are written: RFC 4180 lines or JSON objects with the names of the contract."""

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Literal

from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.topics import Topic
from pipelines.simulation.units import MINUTE_US
from pipelines.simulation.world import Carrier

Format = Literal["csv", "json"]

Fields = tuple[str, ...]
"""The texts of a value in the order of the topic's fields; an empty text is null."""

Encode = Callable[[Fields], bytes]


def encoder(topic: Topic, wire_format: Format) -> Encode:
    """The function that writes the values of `topic`."""
    return csv_line if wire_format == "csv" else _json_encoder(topic)


def csv_line(fields: Fields) -> bytes:
    """One RFC 4180 line without a line break at its end, quoted only where it must be."""
    line = ",".join(fields)
    if line.count(",") >= len(fields) or '"' in line or "\n" in line:
        line = ",".join(map(_cell, fields))
    return line.encode()


def _cell(text: str) -> str:
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _json_encoder(topic: Topic) -> Encode:
    """Tracking numbers become texts, as they may outgrow a double; other integers become numbers. Both are allowed."""
    names = tuple(f'"{field.name}":' for field in topic.fields)
    are_numbers = tuple(field.kind == "integer" and field.name != "trackingNumber" for field in topic.fields)

    def encode(fields: Fields) -> bytes:
        members = [
            name + (text if is_number and _is_digits(text) else encode_basestring(text) if text else "null")
            for name, text, is_number in zip(names, fields, are_numbers, strict=True)
        ]
        return f"{{{','.join(members)}}}".encode()

    return encode


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


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
